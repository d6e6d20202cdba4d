#include <rondo/bench/cudnn/cudnn_functions.h>

#include <limits>

namespace rondo::bench {

CudnnFunctions find_cudnn(const std::function<void*(const std::string& name)>& find) {
  CudnnFunctions functions;
  const auto take = [&]<class Function>(Function& to, const char* name) {
    void* const address = find(name);
    if (!address) throw Error(bad_argument("this cuDNN has no function ", name));
    to = reinterpret_cast<Function>(address);
  };
#define RONDO_TAKE(member, name) take(functions.member, #name);
  RONDO_CUDNN_FUNCTIONS(RONDO_TAKE)
#undef RONDO_TAKE
  return functions;
}

Status from_cudnn(const CudnnFunctions& functions, int status, const char* what) {
  if (status == 0) return {};
  const bool unsupported = status / 1000 == 3;  // CUDNN_STATUS_NOT_SUPPORTED and its special cases
  return Status(unsupported ? StatusCode::bad_argument : StatusCode::device_failed,
                concat(what, ": ", functions.error_string(status)));
}

int cudnn_type(DType type) {
  return type == DType::bfloat16  ? cudnn::DATA_BFLOAT16
         : type == DType::float16 ? cudnn::DATA_HALF
                                  : cudnn::DATA_FLOAT;
}

int cudnn_size(int64_t size) {
  constexpr int64_t kMost = std::numeric_limits<int>::max();
  if (size > kMost) throw Error(bad_argument("cuDNN's sizes are at most ", kMost, ", and one is ", size));
  return static_cast<int>(size);
}

CudnnObject::CudnnObject(const CudnnFunctions& functions, CudnnFunctions::Create create,
                         CudnnFunctions::Destroy destroy)
    : destroy_(destroy) {
  throw_if_error(from_cudnn(functions, create(&value_), "cuDNN, a handle or descriptor"));
}

}  // namespace rondo::bench
