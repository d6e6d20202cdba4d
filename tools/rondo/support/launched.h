// Several processes of the program at once, started by mpirun, srun or the like.
#pragma once

#include <rondo/collectives/across_hosts/process_group.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace rondo::program {

// Tells what went wrong, as one line in one piece: what other processes say meanwhile is before it or behind
// it. Control characters, which only values from outside can have, are escaped.
void print_error(const std::string& message);

// Whether a launcher of MPI has started this process and others, as the environment tells: Open MPI, MPICH and what
// follows their conventions, Slurm with PMIx or PMI-2.
bool was_launched();

// The processes that were launched together; null for one alone. When one of them does not come for `timeout`, the
// others say so and end. Throws rondo::Error: a bad_argument where this build has no MPI.
std::unique_ptr<ProcessGroup> join_launched(std::chrono::seconds timeout);

// "4 processes on 2 hosts: a, b"
std::string places_text(const ProcessGroup& processes);

// The device of a process that was not told one: processes of one host take turns on its GPUs, and on the CPU executor
// each has a machine of its own.
std::vector<int> device_for(const ProcessGroup& processes);

// Tells what went wrong, as this program does, and ends all processes. What is wrong in all of them is told by the
// first: the others wait a moment, so that it can.
[[noreturn]] void end_all(ProcessGroup& processes, const std::string& message, int exit_code);

}  // namespace rondo::program
