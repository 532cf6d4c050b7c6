/* bench/infer.h - the subcommands of bench_infer. */
#ifndef CAUSET_BENCH_INFER_H
#define CAUSET_BENCH_INFER_H

int bench_infer_accuracy(int argc, char **argv);
int bench_infer_memory(int argc, char **argv);
int bench_infer_paper(int argc, char **argv);
int bench_infer_speed(int argc, char **argv);

#endif
