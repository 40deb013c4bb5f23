/* table.h - every scheduling policy, in the order `shoal policy list` shows them. No include guard:
 * policy.c reads it twice. ROW(x) stands for `const struct sched_policy sched_policy_x` in
 * policy/x.c. */
ROW(fifo)
ROW(srtf)
ROW(las)
ROW(tiresias)
ROW(gandiva)
ROW(allox)
