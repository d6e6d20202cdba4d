// Redirects the stream calls of the collectives (linker option --wrap, CMakeLists.txt). The mangled names
// come from the executor's headers.
#include <rondo/collectives/pack.h>
#include <rondo/tests/collectives/algorithms/stream_model.h>

#define RONDO_WRAPPED(result, name, mangled, parameters) \
  result real_##name parameters asm("__real_" mangled);  \
  result name##_wrapped parameters asm("__wrap_" mangled)

namespace rondo::test {

namespace {
StreamModel* active = nullptr;
}

Interception::Interception(StreamModel& model) { active = &model; }
Interception::~Interception() { active = nullptr; }

RONDO_WRAPPED(cudaError_t, wait, "_Z19cudaStreamWaitEventP11CUstream_stP10CUevent_stj",
              (cudaStream_t stream, cudaEvent_t event, unsigned flags));
RONDO_WRAPPED(cudaError_t, record, "_Z15cudaEventRecordP10CUevent_stP11CUstream_st",
              (cudaEvent_t event, cudaStream_t stream));
RONDO_WRAPPED(cudaError_t, copy, "_Z15cudaMemcpyAsyncPvPKvm14cudaMemcpyKindP11CUstream_st",
              (void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream));
RONDO_WRAPPED(cudaError_t, copy_peer, "_Z19cudaMemcpyPeerAsyncPviPKvimP11CUstream_st",
              (void* to, int to_device, const void* from, int from_device, size_t bytes,
               cudaStream_t stream));
// CMakeLists.txt reads the names: none is split into two literals.
RONDO_WRAPPED(
    Status, reduce_vectors,
    "_ZN5rondo14reduce_vectorsEPKcNS_5DTypeENS_9ReductionENS_8SumOrderERKNS_15ReduceArgumentsEP11CUstream_st",
    (const char* operation, DType dtype, Reduction reduction, SumOrder order,
     const ReduceArguments& arguments, cudaStream_t stream));
RONDO_WRAPPED(Status, pack,
              "_ZN5rondo4packEPKcPvSt4spanIKNS_13BasicDataViewIvEELm18446744073709551615EEP11CUstream_st",
              (const char* operation, void* bucket, std::span<const DataView> vectors, cudaStream_t stream));
RONDO_WRAPPED(Status, unpack,
              "_ZN5rondo6unpackEPKcSt4spanIKNS_13BasicDataViewIvEELm18446744073709551615EEPKvP11CUstream_st",
              (const char* operation, std::span<const DataView> vectors, const void* bucket,
               cudaStream_t stream));

cudaError_t wait_wrapped(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  if (!active) return real_wait(stream, event, flags);
  active->wait(stream, event);
  return cudaSuccess;
}
cudaError_t record_wrapped(cudaEvent_t event, cudaStream_t stream) {
  if (!active) return real_record(event, stream);
  active->record(event, stream);
  return cudaSuccess;
}
cudaError_t copy_wrapped(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (!active) return real_copy(to, from, bytes, kind, stream);
  active->copy(stream, to, from, static_cast<int64_t>(bytes));
  return cudaSuccess;
}
cudaError_t copy_peer_wrapped(void* to, int to_device, const void* from, int from_device, size_t bytes,
                              cudaStream_t stream) {
  if (!active) return real_copy_peer(to, to_device, from, from_device, bytes, stream);
  active->copy(stream, to, from, static_cast<int64_t>(bytes));
  return cudaSuccess;
}
Status reduce_vectors_wrapped(const char* operation, DType dtype, Reduction reduction, SumOrder order,
                       const ReduceArguments& arguments, cudaStream_t stream) {
  if (!active) return real_reduce_vectors(operation, dtype, reduction, order, arguments, stream);
  active->sum(stream, dtype, reduction, arguments);
  return {};
}
Status pack_wrapped(const char* operation, void* bucket, std::span<const DataView> vectors,
                    cudaStream_t stream) {
  if (!active) return real_pack(operation, bucket, vectors, stream);
  active->pack(stream, bucket, vectors, true);
  return {};
}
Status unpack_wrapped(const char* operation, std::span<const DataView> vectors, const void* bucket,
                      cudaStream_t stream) {
  if (!active) return real_unpack(operation, vectors, bucket, stream);
  active->pack(stream, const_cast<void*>(bucket), vectors, false);
  return {};
}

}  // namespace rondo::test
