// Kernels: launch checks, and the operation of a launch.
#include <algorithm>
#include <climits>
#include <cstring>

#include "../base/device_half.h"
#include "../base/observer.h"
#include "../base/text.h"
#include "broken_link.h"
#include "gpu_limits.h"
#include "kernel_name.h"
#include "operations.h"
#include "pieces.h"
#include "properties.h"
#include "runtime.h"

namespace simt {
namespace {

std::atomic<uint64_t> launches{0};

// A launch in the form that the workers run. The arguments of a kernel in C++ are checked again after each
// change of the memory map; a device half with its own code checks the accesses.
struct KernelLaunch {
  Kernel kernel;
  Launch launch;
  std::unique_ptr<StandIns> stand_ins;  // null: no link is broken
  mutable std::atomic<uint64_t> checked_at{0};

  Fault run(const Memory& memory, uint64_t cluster) const {
    Fault fault = run_checked(memory, cluster);
    if (fault.error != cudaSuccess && kernel.launched_at.line() != 0)
      fault.message +=
          joined("\n  Launched at ", kernel.launched_at.file_name(), ":", kernel.launched_at.line(), ".");
    return fault;
  }
  Fault run_checked(const Memory& memory, uint64_t cluster) const {
    const uint64_t generation = memory.generation();
    if (!kernel.code && checked_at.load(std::memory_order_relaxed) != generation) {
      Fault fault = memory.check(kernel.device, kernel.name, launch.arguments);
      if (fault.error != cudaSuccess) return fault;
      checked_at.store(generation, std::memory_order_relaxed);
    }
    if (!stand_ins) return run_part(cluster);
    const RunningPieces no_others(nullptr);  // stand-ins count the pieces
    const StandIns::Use use(*stand_ins);
    return run_part(cluster);
  }
  Fault run_part(uint64_t cluster) const {
    return kernel.cooperative ? run_together(kernel) : run_cluster(kernel, cluster);
  }
};

void check_shape(const cudaLaunchConfig_t& config) {
  const dim3 block = config.blockDim;
  const dim3 grid = config.gridDim;
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  require(block.x <= 1024 && block.y <= 1024 && block.z <= 64, cudaErrorInvalidConfiguration);
  require(threads >= 1 && threads <= kMostThreadsPerBlock, cudaErrorInvalidConfiguration);
  require(grid.x >= 1 && grid.y >= 1 && grid.z >= 1, cudaErrorInvalidConfiguration);
  require(grid.x <= INT_MAX && grid.y <= 65535 && grid.z <= 65535, cudaErrorInvalidConfiguration);
}

// Returns the size of the clusters.
dim3 check_cluster(Runtime& runtime, const void* kernel, const dim3& grid, const dim3& cluster) {
  const auto [x, y, z] = cluster;
  require(x != 0 && y != 0 && z != 0, cudaErrorInvalidValue);
  const uint64_t blocks = uint64_t{x} * y * z;
  require(blocks == 1 || limits(host_thread().device).major >= 9, cudaErrorNotSupported);
  require(blocks == 1 || blocks <= most_blocks_per_cluster(runtime, kernel), cudaErrorInvalidClusterSize);
  require(grid.x % x == 0 && grid.y % y == 0 && grid.z % z == 0, cudaErrorInvalidClusterSize);
  return cluster;
}

struct Attributes {
  dim3 cluster;
  bool cooperative = false;
};

// Clusters of the size that the kernel's code gives, or that an attribute does.
Attributes check_attributes(Runtime& runtime, const void* kernel, const cudaLaunchConfig_t& config,
                            const KernelFacts& facts) {
  require(config.numAttrs == 0 || config.attrs, cudaErrorInvalidValue);
  Attributes result = {.cluster = {1, 1, 1}};
  if (facts.cluster.x != 0) result.cluster = check_cluster(runtime, kernel, config.gridDim, facts.cluster);
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const auto& value = config.attrs[i].val;
    switch (config.attrs[i].id) {
      case cudaLaunchAttributeIgnore:
      case cudaLaunchAttributeProgrammaticStreamSerialization:
      case cudaLaunchAttributePriority:
      case cudaLaunchAttributePreferredSharedMemoryCarveout:
        break;
      case cudaLaunchAttributeAccessPolicyWindow:
        check_access_policy_window(runtime, value.accessPolicyWindow);
        break;
      case cudaLaunchAttributeCooperative:
        require(value.cooperative == 0 || kCooperativeLaunches, cudaErrorNotSupported);
        result.cooperative = value.cooperative != 0;
        break;
      case cudaLaunchAttributeClusterDimension:
        result.cluster = check_cluster(runtime, kernel, config.gridDim,
                                       {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z});
        break;
      default:
        throw Failure{cudaErrorNotSupported};
    }
  }
  return result;
}

// The most dynamic shared memory of a block: what a GPU has without opting in, less what the kernel's code
// declares, or what the program has opted for.
size_t shared_limit(const Device& device, const void* kernel, const KernelFacts& facts) {
  const size_t plain = kSharedPerBlock - std::min(facts.shared_bytes, kSharedPerBlock);
  const auto found = device.shared_opt_in.find(kernel);
  return found == device.shared_opt_in.end() ? plain : std::max(found->second, plain);
}

// The number of blocks that the threads and the shared memory of one multiprocessor allow.
int resident_blocks(const cudaDeviceProp& p, const KernelFacts& facts, int block_size, size_t dynamic_bytes) {
  const size_t shared = dynamic_bytes + facts.shared_bytes + p.reservedSharedMemPerBlock;
  if (block_size > std::min(p.maxThreadsPerBlock, facts.threads)) return 0;
  return std::min({p.maxBlocksPerMultiProcessor, p.maxThreadsPerMultiProcessor / block_size,
                   static_cast<int>(p.sharedMemPerMultiprocessor / std::max<size_t>(shared, 1))});
}

// All blocks of a cooperative launch are resident at once.
void require_residence(const Runtime& runtime, const cudaLaunchConfig_t& config, const KernelFacts& facts) {
  const cudaDeviceProp p = properties_of(runtime, host_thread().device);
  const dim3 grid = config.gridDim, block = config.blockDim;
  const int resident =
      resident_blocks(p, facts, static_cast<int>(block.x * block.y * block.z), config.dynamicSmemBytes);
  require(uint64_t{grid.x} * grid.y * grid.z <=
              static_cast<uint64_t>(resident) * static_cast<uint64_t>(p.multiProcessorCount),
          cudaErrorCooperativeLaunchTooLarge);
}

// The bytes of the arguments. An address of device memory is replaced by its offset in 128 bytes, which
// decides how a kernel can access it.
std::vector<unsigned char> without_addresses(const Memory& memory, const std::vector<Argument>& arguments) {
  std::vector<unsigned char> bytes;
  for (const Argument& argument : arguments) {
    const size_t begin = bytes.size();
    const auto* data = static_cast<const unsigned char*>(argument.data);
    bytes.insert(bytes.end(), data, data + argument.bytes);
    for (size_t i = 0; i + sizeof(uintptr_t) <= argument.bytes; i += alignof(uintptr_t)) {
      uintptr_t word;
      std::memcpy(&word, data + i, sizeof(word));
      if (!memory.find(reinterpret_cast<const void*>(word))) continue;
      word %= 128;
      std::memcpy(bytes.data() + begin + i, &word, sizeof(word));
    }
  }
  return bytes;
}

}  // namespace

constexpr unsigned kMostBlocksPerCluster = 8;  // on every GPU that has clusters
// Of kernels with cudaFuncAttributeNonPortableClusterSizeAllowed, on GPUs of data centres.
constexpr unsigned kMostBlocksByOptIn = 16;

unsigned most_blocks_per_cluster(Runtime& runtime, const void* kernel) {
  const int device = host_thread().device, major = limits(device).major;
  const std::lock_guard lock(runtime.mutex);
  const bool opted_in = runtime.devices[static_cast<size_t>(device)]->large_clusters.count(kernel) != 0;
  return opted_in && (major == 9 || major == 10) ? kMostBlocksByOptIn : kMostBlocksPerCluster;
}

std::shared_ptr<Operation> kernel_operation(Runtime& runtime, const cudaLaunchConfig_t& config,
                                            Launch launch) {
  require(launch.kernel, cudaErrorInvalidDeviceFunction);
  Device& device = runtime.current_device();
  require_kernel_image();
  check_shape(config);
  const KernelFacts facts = facts_of(launch.kernel, host_thread().device);
  const dim3 block = config.blockDim;
  require(static_cast<int>(block.x * block.y * block.z) <= facts.threads, cudaErrorInvalidConfiguration);
  const auto [cluster, cooperative] = check_attributes(runtime, launch.kernel, config, facts);

  auto work = std::make_shared<KernelLaunch>();
  work->kernel.grid = config.gridDim;
  work->kernel.block = config.blockDim;
  work->kernel.cluster = cluster;
  work->kernel.shared_bytes = config.dynamicSmemBytes;
  work->kernel.device = host_thread().device;
  work->kernel.sequence = ++launches;
  work->kernel.name = kernel_name(launch.kernel);
  work->kernel.function = launch.kernel;
  if (kObserve) work->kernel.argument_bytes = without_addresses(runtime.memory, launch.arguments);
  work->kernel.body = launch.body;
  work->kernel.code = launch.code;
  work->kernel.storage = launch.storage.get();
  work->kernel.storage_bytes = launch.storage_bytes;
  work->kernel.launched_at = launch.place;
  work->kernel.cooperative = cooperative;
  work->launch = std::move(launch);

  auto operation = std::make_shared<Operation>();
  operation->device = host_thread().device;
  operation->pieces = uint64_t{config.gridDim.x} * config.gridDim.y * config.gridDim.z /
                      (uint64_t{cluster.x} * cluster.y * cluster.z);
  if (cooperative) {
    require_residence(runtime, config, facts);
    operation->pieces = 1;
    operation->cooperative = true;
  }
  know_variables(runtime, host_thread().device);
  if (runtime.memory.any_broken_link())
    work->stand_ins = std::make_unique<StandIns>(runtime.memory, work->kernel.device, work->launch.arguments,
                                                 operation->pieces);
  if (work->stand_ins && work->stand_ins->empty()) work->stand_ins.reset();
  operation->run = [work, &memory = runtime.memory](uint64_t piece) { return work->run(memory, piece); };
  operation->kernel = &work->kernel;
  operation->arguments = &work->launch.arguments;
  operation->leave = [kernel = &work->kernel] { join_blocks(*kernel); };
  const std::lock_guard lock(runtime.mutex);
  require(config.dynamicSmemBytes <= shared_limit(device, work->kernel.function, facts),
          cudaErrorInvalidValue);
  return operation;
}

cudaError_t launch(const cudaLaunchConfig_t* config, Launch launch) {
  host_thread().launches = true;
  const cudaError_t error = api([&](Runtime& runtime) {
    require(config, cudaErrorInvalidValue);
    const auto operation = kernel_operation(runtime, *config, std::move(launch));
    {
      std::unique_lock lock(runtime.mutex);
      const auto stream = runtime.stream(config->stream);
      require(stream->device == host_thread().device, cudaErrorInvalidResourceHandle);
      runtime.load(lock, operation->kernel->function, stream.get());
      runtime.make_room(lock, stream, "a kernel launch");
      runtime.enqueue(stream, operation);
    }
    runtime.scheduler.throttle();
    return cudaSuccess;
  });
  host_thread().launches = false;
  return error;
}

}  // namespace simt

using namespace simt;

// cudaFuncAttributeNonPortableClusterSizeAllowed, which the executor's headers do not name.
constexpr int kNonPortableClusters = 14;

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  return api([&](Runtime& runtime) {
    require(kernel, cudaErrorInvalidDeviceFunction);
    Device& device = runtime.current_device();
    require_kernel_image();
    const KernelFacts facts = facts_of(kernel, host_thread().device);
    std::unique_lock lock(runtime.mutex);
    runtime.load(lock, kernel);
    if (static_cast<int>(attribute) == kNonPortableClusters) {
      require(value == 0 || value == 1, cudaErrorInvalidValue);
      if (value == 0) {
        device.large_clusters.erase(kernel);
      } else {
        device.large_clusters.insert(kernel);
      }
      return cudaSuccess;
    }
    switch (attribute) {
      case cudaFuncAttributeMaxDynamicSharedMemorySize:
        require(value >= 0 && static_cast<size_t>(value) + facts.shared_bytes <=
                                  static_cast<size_t>(limits(host_thread().device).shared_block_kb) << 10,
                cudaErrorInvalidValue);
        device.shared_opt_in[kernel] = static_cast<size_t>(value);
        return cudaSuccess;
      case cudaFuncAttributePreferredSharedMemoryCarveout:
        require(value >= -1 && value <= 100, cudaErrorInvalidValue);  // a hint, in percent
        return cudaSuccess;
      default:
        return cudaErrorInvalidValue;
    }
  });
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  return api([&](Runtime& runtime) {
    require(attributes, cudaErrorInvalidValue);
    require(kernel, cudaErrorInvalidDeviceFunction);
    Device& device = runtime.current_device();
    require_kernel_image();
    const KernelFacts facts = facts_of(kernel, host_thread().device);
    std::unique_lock lock(runtime.mutex);
    runtime.load(lock, kernel);
    *attributes = {};
    attributes->sharedSizeBytes = facts.shared_bytes;
    attributes->constSizeBytes = facts.constant_bytes;
    attributes->localSizeBytes = facts.local_bytes;
    attributes->maxThreadsPerBlock = facts.threads;
    attributes->numRegs = facts.registers;
    attributes->binaryVersion = 10 * limits(host_thread().device).major + limits(host_thread().device).minor;
    attributes->ptxVersion = facts.ptx_version ? facts.ptx_version : attributes->binaryVersion;
    attributes->maxDynamicSharedSizeBytes = static_cast<int>(shared_limit(device, kernel, facts));
    return cudaSuccess;
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel, int block_size,
                                                          size_t shared_bytes) {
  return api([&](Runtime& runtime) {
    require(blocks, cudaErrorInvalidValue);
    require(kernel, cudaErrorInvalidDeviceFunction);
    require_kernel_image();
    require(block_size >= 1, cudaErrorInvalidValue);
    runtime.current_device();
    const KernelFacts facts = facts_of(kernel, host_thread().device);
    {
      std::unique_lock lock(runtime.mutex);
      runtime.load(lock, kernel);
    }
    *blocks = resident_blocks(properties_of(runtime, host_thread().device), facts, block_size, shared_bytes);
    return cudaSuccess;
  });
}
