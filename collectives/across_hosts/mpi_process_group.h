// The process group of the processes that mpirun, or another MPI launcher, started together.
#pragma once

#include <rondo/collectives/across_hosts/process_group.h>

#include <chrono>
#include <functional>
#include <memory>

namespace rondo {

struct MpiOptions {
  // exchange() fails if no message arrives for this long. Use a larger value if a process can take longer
  // between two messages, for example to read its data.
  std::chrono::milliseconds timeout = std::chrono::seconds(60);
  // Called once, by the thread that detects a failure, before the failure becomes visible to others. It lets
  // a program exit whatever its other threads wait for. Must not call the group's state() or exchange().
  std::function<void(ProcessGroup&, const Status&)> on_failure = {};
};

// Whether this build includes MPI (CMake: RONDO_MPI).
bool has_mpi();

// Initialises MPI if the caller has not, and duplicates MPI_COMM_WORLD. MPI must provide at least
// MPI_THREAD_SERIALIZED. Messages are non-blocking, and one thread at a time calls MPI. If the program itself
// calls MPI from another thread, it must have initialised MPI with MPI_THREAD_MULTIPLE. The destructor
// finalises MPI if the group initialised it and has not failed. Every process of the world must create a
// group. Throws rondo::Error; without MPI a bad_argument.
std::unique_ptr<ProcessGroup> make_mpi_process_group(MpiOptions options = {});

}  // namespace rondo
