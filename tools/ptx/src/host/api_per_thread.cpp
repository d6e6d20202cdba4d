// The names that a program built with nvcc --default-stream per-thread calls: the default stream is that of
// the thread, and functions without a stream use it, too.
#include <cuda_runtime_api.h>

#include "runtime.h"

namespace {

cudaStream_t of_thread(cudaStream_t stream) { return stream ? stream : cudaStreamPerThread; }

// A function that waits until the work which it enqueued is done.
cudaError_t wait_for(cudaError_t enqueued) {
  return enqueued == cudaSuccess ? cudaStreamSynchronize(cudaStreamPerThread) : enqueued;
}

}  // namespace

// PTSZ(function, (parameters before the stream), (arguments)): the stream is the last argument. PTDS: there
// is none, and FUNCTIONAsync() has one.
#define PTSZ(name, parameters, ...) \
  cudaError_t name##_ptsz parameters { return name(__VA_ARGS__ __VA_OPT__(, ) of_thread(stream)); }
#define PTDS(name, parameters, ...) \
  cudaError_t name##_ptds parameters { return wait_for(name##Async(__VA_ARGS__, cudaStreamPerThread)); }

extern "C" {

PTDS(cudaMemcpy, (void* to, const void* from, size_t bytes, cudaMemcpyKind kind), to, from, bytes, kind)
PTDS(cudaMemcpyToSymbol,
     (const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind), symbol, from,
     bytes, offset, kind)
PTDS(cudaMemcpyFromSymbol, (void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind),
     to, symbol, bytes, offset, kind)
PTDS(cudaMemcpy2D,
     (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
      cudaMemcpyKind kind),
     to, to_pitch, from, from_pitch, width, height, kind)
PTDS(cudaMemcpy3D, (const cudaMemcpy3DParms* parameters), parameters)
PTDS(cudaMemset, (void* to, int value, size_t bytes), to, value, bytes)
PTDS(cudaMemset2D, (void* to, size_t pitch, int value, size_t width, size_t height), to, pitch, value, width,
     height)
PTDS(cudaMemset3D, (cudaPitchedPtr to, int value, cudaExtent extent), to, value, extent)

PTSZ(cudaMemcpyAsync, (void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream),
     to, from, bytes, kind)
PTSZ(cudaMemcpyToSymbolAsync,
     (const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind,
      cudaStream_t stream),
     symbol, from, bytes, offset, kind)
PTSZ(cudaMemcpyFromSymbolAsync,
     (void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind, cudaStream_t stream),
     to, symbol, bytes, offset, kind)
PTSZ(cudaMemcpy2DAsync,
     (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
      cudaMemcpyKind kind, cudaStream_t stream),
     to, to_pitch, from, from_pitch, width, height, kind)
PTSZ(cudaMemcpy3DAsync, (const cudaMemcpy3DParms* parameters, cudaStream_t stream), parameters)
PTSZ(cudaMemsetAsync, (void* to, int value, size_t bytes, cudaStream_t stream), to, value, bytes)
PTSZ(cudaMemset2DAsync, (void* to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream),
     to, pitch, value, width, height)
PTSZ(cudaMemset3DAsync, (cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream), to, value,
     extent)
PTSZ(cudaMemPrefetchAsync,
     (const void* pointer, size_t bytes, cudaMemLocation location, unsigned int flags, cudaStream_t stream),
     pointer, bytes, location, flags)
PTSZ(cudaMallocAsync, (void** pointer, size_t bytes, cudaStream_t stream), pointer, bytes)
PTSZ(cudaMallocFromPoolAsync, (void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream),
     pointer, bytes, pool)
PTSZ(cudaFreeAsync, (void* pointer, cudaStream_t stream), pointer)
PTSZ(cudaStreamQuery, (cudaStream_t stream))
PTSZ(cudaStreamSynchronize, (cudaStream_t stream))
PTSZ(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), event)
PTSZ(cudaGraphLaunch, (cudaGraphExec_t exec, cudaStream_t stream), exec)
PTSZ(cudaGraphUpload, (cudaGraphExec_t exec, cudaStream_t stream), exec)
PTSZ(cudaLaunchKernel,
     (const void* function, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream),
     function, grid, block, arguments, shared)
PTSZ(cudaLaunchCooperativeKernel,
     (const void* function, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream),
     function, grid, block, arguments, shared)

cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t);
PTSZ(__cudaLaunchKernel,
     (cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream),
     kernel, grid, block, arguments, shared)

cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t* config, const void* function,
                                     void** arguments) {
  if (!config) return cudaLaunchKernelExC(config, function, arguments);
  cudaLaunchConfig_t own = *config;
  own.stream = of_thread(own.stream);
  return cudaLaunchKernelExC(&own, function, arguments);
}
cudaError_t cudaLaunchHostFunc_ptsz(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return cudaLaunchHostFunc(of_thread(stream), function, data);
}
cudaError_t cudaStreamAddCallback_ptsz(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                       unsigned int flags) {
  return cudaStreamAddCallback(of_thread(stream), callback, data, flags);
}
cudaError_t cudaStreamAttachMemAsync_ptsz(cudaStream_t stream, void* pointer, size_t bytes,
                                          unsigned int flags) {
  return cudaStreamAttachMemAsync(of_thread(stream), pointer, bytes, flags);
}
cudaError_t cudaStreamGetId_ptsz(cudaStream_t stream, unsigned long long* id) {
  return cudaStreamGetId(of_thread(stream), id);
}
cudaError_t cudaEventRecordWithFlags_ptsz(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
  return cudaEventRecordWithFlags(event, of_thread(stream), flags);
}
cudaError_t cudaStreamWaitEvent_ptsz(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  return cudaStreamWaitEvent(of_thread(stream), event, flags);
}
cudaError_t cudaStreamGetPriority_ptsz(cudaStream_t stream, int* priority) {
  return cudaStreamGetPriority(of_thread(stream), priority);
}
cudaError_t cudaStreamSetAttribute_ptsz(cudaStream_t stream, cudaStreamAttrID attribute,
                                        const cudaStreamAttrValue* value) {
  return cudaStreamSetAttribute(of_thread(stream), attribute, value);
}
cudaError_t cudaStreamGetAttribute_ptsz(cudaStream_t stream, cudaStreamAttrID attribute,
                                        cudaStreamAttrValue* value) {
  return cudaStreamGetAttribute(of_thread(stream), attribute, value);
}
cudaError_t cudaStreamCopyAttributes_ptsz(cudaStream_t to, cudaStream_t from) {
  return cudaStreamCopyAttributes(of_thread(to), of_thread(from));
}
cudaError_t cudaStreamGetFlags_ptsz(cudaStream_t stream, unsigned int* flags) {
  return cudaStreamGetFlags(of_thread(stream), flags);
}
cudaError_t cudaStreamGetDevice_ptsz(cudaStream_t stream, int* device) {
  return cudaStreamGetDevice(of_thread(stream), device);
}
cudaError_t cudaStreamBeginCapture_ptsz(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return cudaStreamBeginCapture(of_thread(stream), mode);
}
cudaError_t cudaStreamBeginCaptureToGraph_ptsz(cudaStream_t stream, cudaGraph_t graph,
                                               const cudaGraphNode_t* nodes, const cudaGraphEdgeData* edges,
                                               size_t count, cudaStreamCaptureMode mode) {
  return cudaStreamBeginCaptureToGraph(of_thread(stream), graph, nodes, edges, count, mode);
}
cudaError_t cudaStreamUpdateCaptureDependencies_ptsz(cudaStream_t stream, cudaGraphNode_t* nodes,
                                                     const cudaGraphEdgeData* edges, size_t count,
                                                     unsigned int flags) {
  return cudaStreamUpdateCaptureDependencies(of_thread(stream), nodes, edges, count, flags);
}
cudaError_t cudaStreamEndCapture_ptsz(cudaStream_t stream, cudaGraph_t* graph) {
  return cudaStreamEndCapture(of_thread(stream), graph);
}
cudaError_t cudaStreamIsCapturing_ptsz(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return cudaStreamIsCapturing(of_thread(stream), status);
}
cudaError_t cudaStreamGetCaptureInfo_ptsz(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                          unsigned long long* id, cudaGraph_t* graph,
                                          const cudaGraphNode_t** nodes, const cudaGraphEdgeData** edges,
                                          size_t* count) {
  return cudaStreamGetCaptureInfo(of_thread(stream), status, id, graph, nodes, edges, count);
}
cudaError_t cudaGetDriverEntryPointByVersion_ptsz(const char* symbol, void** function, unsigned int version,
                                                  unsigned long long flags,
                                                  cudaDriverEntryPointQueryResult* result) {
  return cudaGetDriverEntryPointByVersion(symbol, function, version, flags, result);
}

}  // extern "C"
