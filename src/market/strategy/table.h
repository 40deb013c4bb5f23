/* table.h - the strategies, in the order in which `shoal market` shows them. No include guard:
 * strategy.c reads it twice. ROW(x) stands for `const struct market_strategy market_strategy_x` in
 * strategy/x.c. `static` is a word of C: fixed has it as its name. */
ROW(shoal)
ROW(uniform)
ROW(periodic)
ROW(fixed)
