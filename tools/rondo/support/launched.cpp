#include <rondo/collectives/across_hosts/mpi_process_group.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/nn/io/printable.h>
#include <rondo/tools/rondo/support/device_list.h>
#include <rondo/tools/rondo/support/launched.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <thread>

namespace rondo::program {

void print_error(const std::string& message) { std::cerr << "rondo: " + printable(message) + "\n"; }

bool has_launcher() {
  constexpr const char* kVariables[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"};
  return std::any_of(std::begin(kVariables), std::end(kVariables),
                     [](const char* name) { return std::getenv(name) != nullptr; });
}

bool was_launched() {
  for (const char* size : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
    if (const char* value = std::getenv(size); value && std::string(value) == "1") return false;
  return has_launcher();
}

std::unique_ptr<ProcessGroup> join_launched(std::chrono::seconds timeout) {
  if (!was_launched()) return nullptr;
  // A kernel that is loaded at its first launch may hold a lock of CUDA until the device is idle, and a
  // CUDA-aware MPI may need it for a message that the device waits for. CUDA reads this when it starts.
  setenv("CUDA_MODULE_LOADING", "EAGER", /*overwrite=*/0);
  constexpr int kWorkFailed = 1;
  std::unique_ptr<ProcessGroup> processes = make_mpi_process_group(
      {.timeout = timeout, .on_failure = [](ProcessGroup& group, const Status& failure) {
         print_error(concat(group.name(group.index()), ": ", failure.message()));
         group.abort(kWorkFailed);
       }});
  // A single process behaves as if it was started by hand; destroying the group finalises MPI.
  return processes->size() > 1 ? std::move(processes) : nullptr;
}

std::string places_text(const ProcessGroup& processes) {
  std::vector<std::string> hosts;
  for (int process = 0; process < processes.size(); ++process)
    if (std::find(hosts.begin(), hosts.end(), processes.host(process)) == hosts.end())
      hosts.push_back(processes.host(process));
  std::string text = concat(counted(processes.size(), "process", "processes"), " on ", hosts.size(),
                            hosts.size() == 1 ? " host: " : " hosts: ");
  for (size_t i = 0; i < hosts.size(); ++i) text += (i == 0 ? "" : ", ") + hosts[i];
  return text;
}

std::vector<int> device_for(const ProcessGroup& processes) {
  int before = 0;  // processes of this host with a lower index
  for (int process = 0; process < processes.index(); ++process)
    if (processes.host(process) == processes.host(processes.index())) ++before;
  if (std::string(platform()) == "cpu") return devices_for(1);
  return take_devices(std::vector<int>{before % std::max(device_count(), 1)});
}

void end_all(ProcessGroup& processes, const std::string& message, int exit_code) {
  // On a busy machine a launcher takes more than a second to end the other processes.
  if (processes.index() > 0) std::this_thread::sleep_for(std::chrono::seconds(3));
  std::cout.flush();
  print_error(concat(processes.name(processes.index()), ": ", message));
  processes.abort(exit_code);
  std::abort();  // g++ 12 does not treat the virtual function as [[noreturn]]
}

}  // namespace rondo::program
