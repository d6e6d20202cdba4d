#include <rondo/kernels/core/math_mode.h>

#include <cuda_runtime.h>

#include <algorithm>
#include <iterator>

namespace rondo {
namespace {

Status find_capability(int* major, int* minor) {
  int device = 0;
  RONDO_CUDA(cudaGetDevice(&device));
  RONDO_CUDA(cudaDeviceGetAttribute(major, cudaDevAttrComputeCapabilityMajor, device));
  RONDO_CUDA(cudaDeviceGetAttribute(minor, cudaDevAttrComputeCapabilityMinor, device));
  return {};
}

Status check_capability(const char* name, const std::string& what, int wanted) {
  int major = 0, minor = 0;
  RONDO_RETURN_IF_ERROR(find_capability(&major, &minor));
  if (10 * major + minor >= wanted) return {};
  return bad_argument(name, ": ", what, " needs compute capability ", wanted / 10, ".", wanted % 10,
                      "; the device has ", major, ".", minor);
}

// The build has the kernels that only GPUs of compute capability 9.0 run (tools/cmake/architectures.cmake).
#if defined(__SIMT__) || defined(RONDO_SM90A)
constexpr bool kHasSm90a = true;
#else
constexpr bool kHasSm90a = false;
#endif

}  // namespace

Status check_math(const char* name, Math math) {
  if (math == Math::fp32) return {};
  if (std::ranges::find(kMathModes, math) == std::end(kMathModes))
    return bad_argument(name, ": math is the enumerator ", static_cast<int>(math), ", must be from 0 to ",
                        std::size(kMathModes) - 1);
  return check_capability(name, concat("math ", name_of(math)), least_capability(DType::float32, math));
}

Status check_factor_type(const char* name, DType type) {
  if (type == DType::float32) return {};
  return check_capability(name, name_of(type), least_capability(type, Math::fp32));
}

Status check_wgmma(const char* name) {
  int major = 0, minor = 0;
  RONDO_RETURN_IF_ERROR(find_capability(&major, &minor));
  if (major != 9)
    return bad_argument(name, ": wgmma needs compute capability 9.0, no newer one; the device has ", major,
                        ".", minor);
  if (!kHasSm90a)
    return bad_argument(name,
                        ": this build has no kernels with wgmma; it needs 90 in CMAKE_CUDA_ARCHITECTURES");
  return {};
}

}  // namespace rondo
