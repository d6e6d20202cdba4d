// Kernel nodes of graphs.
#include <cstdio>
#include <cstring>

#include "../base/device_half.h"
#include "graph_nodes.h"
#include "kernel_name.h"
#include "operations.h"

using namespace simt;

namespace {

// Copies the buffer of cudaKernelNodeParams::extra, which must have room for all arguments.
std::shared_ptr<PackedArguments> unpack(void* const* extra, const std::vector<ArgumentPlace>& places) {
  constexpr size_t kAlignment = 64;
  const void* buffer = nullptr;
  const size_t* bytes = nullptr;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
      buffer = extra[1];
    else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
      bytes = static_cast<const size_t*>(extra[1]);
    else
      throw Failure{cudaErrorInvalidValue};
  }
  require(buffer && bytes, cudaErrorInvalidValue);
  require(places.empty() || *bytes >= places.back().offset + places.back().bytes, cudaErrorInvalidValue);
  auto packed = std::make_shared<PackedArguments>();
  packed->bytes = *bytes;
  packed->storage.resize(*bytes + kAlignment);
  const auto address = reinterpret_cast<uintptr_t>(packed->storage.data());
  packed->begin = packed->storage.data() + (kAlignment - address % kAlignment) % kAlignment;
  std::memcpy(packed->begin, buffer, *bytes);
  void* const list[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, packed->begin, CU_LAUNCH_PARAM_BUFFER_SIZE,
                        &packed->bytes, CU_LAUNCH_PARAM_END};
  std::copy(std::begin(list), std::end(list), packed->extra);
  return packed;
}

[[noreturn]] void refuse_unknown(const void* kernel) {
  std::fprintf(
      stderr,
      "simt: the parameters of the kernel %s are not known, because nothing has named it by its type; "
      "cudaFuncGetAttributes(&attributes, kernel) does\n",
      kernel_name(kernel).c_str());
  throw Failure{cudaErrorInvalidDeviceFunction};
}

// CUDA documents this error alone for shapes that a launch refuses.
std::shared_ptr<Operation> operation_of(Runtime& runtime, const cudaLaunchConfig_t& config, Launch launch) {
  try {
    return kernel_operation(runtime, config, std::move(launch));
  } catch (const Failure& failure) {
    const bool shape =
        failure.error == cudaErrorInvalidConfiguration || failure.error == cudaErrorInvalidClusterSize;
    throw Failure{shape ? cudaErrorInvalidValue : failure.error};
  }
}

// What a kernel node keeps when it gets new parameters: the attributes of its launch.
struct KeptAttributes {
  dim3 cluster = {1, 1, 1};
  bool cooperative = false;

  void put_into(cudaLaunchConfig_t& config, cudaLaunchAttribute (&list)[2]) const {
    config.attrs = list;
    if (cluster.x * cluster.y * cluster.z > 1) {
      cudaLaunchAttribute& attribute = list[config.numAttrs++];
      attribute.id = cudaLaunchAttributeClusterDimension;
      attribute.val.clusterDim.x = cluster.x;
      attribute.val.clusterDim.y = cluster.y;
      attribute.val.clusterDim.z = cluster.z;
    }
    if (cooperative) {
      cudaLaunchAttribute& attribute = list[config.numAttrs++];
      attribute.id = cudaLaunchAttributeCooperative;
      attribute.val.cooperative = 1;
    }
  }
};

KeptAttributes attributes_of(const Node& node) {
  require(node.type() == cudaGraphNodeTypeKernel, cudaErrorInvalidValue);
  return {node.operation->kernel->cluster, node.operation->cooperative};
}

std::shared_ptr<Node> kernel_node(Runtime& runtime, const cudaKernelNodeParams* params,
                                  const KeptAttributes& attributes = {}) {
  require(params, cudaErrorInvalidValue);
  require(params->func, cudaErrorInvalidDeviceFunction);
  require(!params->kernelParams || !params->extra, cudaErrorInvalidValue);
  const auto places = argument_places(params->func);
  if (!places) refuse_unknown(params->func);
  auto node = std::make_shared<Node>();
  void* const* arguments = params->kernelParams;
  std::vector<void*> unpacked;
  if (params->extra) {
    node->packed = unpack(params->extra, *places);
    for (const ArgumentPlace& place : *places) unpacked.push_back(node->packed->begin + place.offset);
    arguments = unpacked.data();
  }
  require(arguments || places->empty(), cudaErrorInvalidValue);
  cudaLaunchConfig_t config = {};
  config.gridDim = params->gridDim;
  config.blockDim = params->blockDim;
  config.dynamicSmemBytes = params->sharedMemBytes;
  cudaLaunchAttribute list[2] = {};
  attributes.put_into(config, list);
  node->operation = operation_of(runtime, config, prepare(params->func, arguments));
  std::unique_lock lock(runtime.mutex);
  runtime.load(lock, params->func);
  return node;
}

}  // namespace

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, size_t count,
                                   const cudaKernelNodeParams* params) {
  return add_graph_node(node, graph, dependencies, count,
                        [&](Runtime& runtime) { return kernel_node(runtime, params); });
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* params) {
  return set_graph_node(node, cudaGraphNodeTypeKernel, [&](Runtime& runtime) {
    std::unique_lock lock(runtime.mutex);
    const KeptAttributes attributes = attributes_of(*runtime.nodes.get(node));
    lock.unlock();
    return kernel_node(runtime, params, attributes);
  });
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* params) {
  return set_exec_node(exec, node, cudaGraphNodeTypeKernel, [&](Runtime& runtime) {
    std::unique_lock lock(runtime.mutex);
    const KeptAttributes attributes = attributes_of(runtime.execs.get(exec)->node(*runtime.nodes.get(node)));
    lock.unlock();
    return kernel_node(runtime, params, attributes);
  });
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* params) {
  return get_graph_node(node, cudaGraphNodeTypeKernel, params, [](Node& found) {
    const Kernel& kernel = *found.operation->kernel;
    cudaKernelNodeParams result = {};
    result.func = const_cast<void*>(kernel.function);
    result.gridDim = kernel.grid;
    result.blockDim = kernel.block;
    result.sharedMemBytes = static_cast<unsigned>(kernel.shared_bytes);
    if (found.packed) {
      result.extra = found.packed->extra;
      return result;
    }
    found.arguments.clear();
    for (const Argument& argument : *found.operation->arguments) found.arguments.push_back(argument.data);
    result.kernelParams = found.arguments.data();
    return result;
  });
}
