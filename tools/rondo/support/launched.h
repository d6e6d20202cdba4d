// Several processes of the program, started by mpirun, srun or similar.
#pragma once

#include <rondo/collectives/across_hosts/process_group.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace rondo::program {

// Prints the error as one line in a single write, so that it does not mix with the output of other processes.
// Escapes control characters, which can only come from external values.
void print_error(const std::string& message);

// Whether an MPI launcher started this process, according to the environment: Open MPI, MPICH and launchers
// with their conventions, Slurm with PMIx or PMI-2.
bool has_launcher();
// Whether it started this process together with others.
bool was_launched();

// Returns the processes that were launched together, or null for a single process. If one of them does not
// respond for `timeout`, the others report it and end. Throws rondo::Error; a bad_argument if this build has
// no MPI.
std::unique_ptr<ProcessGroup> join_launched(std::chrono::seconds timeout);

// "4 processes on 2 hosts: a, b"
std::string places_text(const ProcessGroup& processes);

// The device of a process without --devices: the processes of a host are distributed over its GPUs in turn;
// on the CPU executor each process has its own.
std::vector<int> device_for(const ProcessGroup& processes);

// Prints the error and ends all processes. Processes other than the first wait three seconds, so that an
// error common to all is printed by the first.
[[noreturn]] void end_all(ProcessGroup& processes, const std::string& message, int exit_code);

}  // namespace rondo::program
