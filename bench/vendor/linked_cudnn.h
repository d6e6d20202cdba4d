// The functions of the cuDNN that a program is linked with, and a check of the table of bench/cudnn against
// the header: this file does not compile if a signature, a value or the layout of CudnnPerf differs.
#pragma once

#include <cudnn.h>

#include <rondo/bench/cudnn/cudnn_functions.h>

#include <map>
#include <type_traits>

namespace rondo::bench {

// What a caller passes in a register: an enumeration is an int, a pointer to a struct any pointer.
template <class T>
struct PassedAs {
  using type = std::conditional_t<std::is_enum_v<T>, int, T>;
};
template <class T>
struct PassedAs<T*> {
  using type = std::conditional_t<std::is_class_v<T>, void*, T*>;
};
template <class T>
struct PassedAs<T**> {
  using type = void**;
};
template <class Result, class... Parameters>
struct PassedAs<Result (*)(Parameters...)> {
  using type = typename PassedAs<Result>::type (*)(typename PassedAs<Parameters>::type...);
};
template <class A, class B>
inline constexpr bool kSameCall = std::is_same_v<typename PassedAs<A>::type, typename PassedAs<B>::type>;

#define RONDO_CHECK(member, name) \
  static_assert(kSameCall<decltype(CudnnFunctions::member), decltype(&::name)>, #name);
RONDO_CUDNN_FUNCTIONS(RONDO_CHECK)
#undef RONDO_CHECK

#define RONDO_CHECK(name) static_assert(cudnn::name == CUDNN_##name);
RONDO_CHECK(DATA_FLOAT)
RONDO_CHECK(DATA_HALF)
RONDO_CHECK(DATA_BFLOAT16)
RONDO_CHECK(TENSOR_NCHW)
RONDO_CHECK(TENSOR_NHWC)
RONDO_CHECK(DEFAULT_MATH)
RONDO_CHECK(TENSOR_OP_MATH)
RONDO_CHECK(FMA_MATH)
RONDO_CHECK(CROSS_CORRELATION)
RONDO_CHECK(POOLING_AVERAGE_COUNT_INCLUDE_PADDING)
RONDO_CHECK(POOLING_MAX_DETERMINISTIC)
RONDO_CHECK(PROPAGATE_NAN)
RONDO_CHECK(SOFTMAX_ACCURATE)
RONDO_CHECK(SOFTMAX_LOG)
RONDO_CHECK(SOFTMAX_MODE_INSTANCE)
RONDO_CHECK(BATCHNORM_PER_ACTIVATION)
#undef RONDO_CHECK

template <class Perf>
inline constexpr bool kIsCudnnPerf = sizeof(Perf) == sizeof(CudnnPerf) &&
                                     offsetof(Perf, algo) == offsetof(CudnnPerf, algorithm) &&
                                     offsetof(Perf, status) == offsetof(CudnnPerf, status) &&
                                     offsetof(Perf, time) == offsetof(CudnnPerf, milliseconds) &&
                                     offsetof(Perf, memory) == offsetof(CudnnPerf, memory) &&
                                     offsetof(Perf, determinism) == offsetof(CudnnPerf, determinism) &&
                                     offsetof(Perf, mathType) == offsetof(CudnnPerf, math);
static_assert(kIsCudnnPerf<cudnnConvolutionFwdAlgoPerf_t>);
static_assert(kIsCudnnPerf<cudnnConvolutionBwdDataAlgoPerf_t>);
static_assert(kIsCudnnPerf<cudnnConvolutionBwdFilterAlgoPerf_t>);

// The address of a function, or null. For find_cudnn().
inline void* linked_cudnn(const std::string& name) {
#define RONDO_ENTRY(member, name) {#name, reinterpret_cast<void*>(::name)},
  static const std::map<std::string, void*> functions = {RONDO_CUDNN_FUNCTIONS(RONDO_ENTRY)};
#undef RONDO_ENTRY
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : found->second;
}

}  // namespace rondo::bench
