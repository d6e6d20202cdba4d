// Replaces mpi_process_group.cpp if MPI was not found.
#include <rondo/collectives/across_hosts/mpi_process_group.h>

namespace rondo {

bool has_mpi() { return false; }

std::unique_ptr<ProcessGroup> make_mpi_process_group(MpiOptions) {
  throw Error(
      bad_argument("this build has no MPI, which several processes need: install it (Debian: libopenmpi-dev "
                   "and openmpi-bin) "
                   "and build again"));
}

}  // namespace rondo
