// A program for several processes, run as a single process.

#include <rondo/collectives/across_hosts/mpi_process_group.h>

int main(int argc, char**) {
  if (argc == 1) return 0;
  return rondo::make_mpi_process_group({})->size() > 0 ? 0 : 1;
}
