/* table.h - every scheduling policy, in the order `shoal policy list` shows them. No include guard:
 * policy.c reads it twice. ROW(x) stands for `const struct sched_policy sched_policy_x` in
 * policy/x.c. */
ROW(fifo)
ROW(fifo_types)
ROW(srtf)
ROW(las)
ROW(tiresias)
ROW(gandiva)
ROW(allox)
ROW(max_min)
ROW(ftf)
ROW(makespan)
ROW(throughput)
ROW(cost)
ROW(cost_slo)
ROW(hierarchical)
