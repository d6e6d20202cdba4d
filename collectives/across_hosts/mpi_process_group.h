// The processes that mpirun, or another launcher of MPI, started together.
#pragma once

#include <rondo/collectives/across_hosts/process_group.h>

#include <chrono>
#include <functional>
#include <memory>

namespace rondo {

struct MpiOptions {
  // How long nothing may arrive before those that are missed are given up. A process that takes longer for what it
  // does between two messages, reading its data for instance, needs more.
  std::chrono::milliseconds timeout = std::chrono::seconds(60);
  // Called once, before anybody else learns that the group has failed, by the thread that found it: for a program that
  // ends then, whatever its other threads wait for. Must not ask the group for state() or exchange().
  std::function<void(ProcessGroup&, const Status&)> on_failure = {};
};

// Whether this build has MPI (CMake: RONDO_MPI).
bool has_mpi();

// Initialises MPI where the caller has not, with MPI_THREAD_SERIALIZED at least, and takes a communicator of its own
// beside MPI_COMM_WORLD; messages go by non-blocking calls, one thread at a time. A program that calls MPI itself from
// another thread must have initialised it with MPI_THREAD_MULTIPLE. When the group goes, and is ok, it finalises what
// it has initialised. Every process of the world must make one. Throws rondo::Error; a bad_argument without MPI.
std::unique_ptr<ProcessGroup> make_mpi_process_group(MpiOptions options = {});

}  // namespace rondo
