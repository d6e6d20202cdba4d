#include <rondo/bench/operators/column_major_gemm.h>
#include <rondo/tools/rondo/bench/cublas_peer.h>
#include <rondo/tools/rondo/bench/library_peer.h>

#include <cstdlib>

namespace rondo::program {
namespace {

constexpr int64_t kWorkspaceBytes = 32 << 20;  // what cuBLAS recommends for compute capability 9.0

int cublas_type(DType type) { return type == DType::float32 ? 0 : type == DType::float16 ? 2 : 14; }
// tf32x3 has the accuracy of fp32, and is compared with it.
int compute_type(Math math) { return math == Math::tf32 ? 77 : 68; }

class CublasPeer : public LibraryPeer {
 public:
  explicit CublasPeer(const CublasFunctions& functions) : cublas_(functions), workspace_(kWorkspaceBytes) {
    unsetenv("NVIDIA_TF32_OVERRIDE");  // it replaces the arithmetic that is compared
    check(cublas_.create(&handle_));
    int version = 0;
    check(cublas_.version(handle_, &version));
    name_ = concat("cuBLAS ", version);
  }
  ~CublasPeer() override {
    stop();
    static_cast<void>(cublas_.destroy(handle_));
  }

  std::string name() const override { return name_; }

  void begin(const PeerWork& work) override {
    if (work.operation != "gemm")
      throw Error(bad_argument("--peer is 'cublas', which has products of matrices, not ", work.operation));
    if (work.request.shape["batch"] != 1)
      throw Error(bad_argument("--peer is 'cublas', which computes one product: batch must be 1"));
    request_ = work.request;
    bench::OperatorCall call = bench::make_call("gemm", request_);
    call.enqueue = [this](const bench::Operands& operands, cudaStream_t stream) {
      return run(operands, stream);
    };
    time("cuBLAS", std::move(call), *work.operands);
  }

 private:
  // The operands of the operator gemm: a, b and c.
  Status run(const bench::Operands& operands, cudaStream_t stream) {
    using Bytes = bench::OperandId<uint8_t>;
    const bench::Shape& s = request_.shape;
    const auto gemm = bench::column_major_gemm<uint8_t>(
        {{s["m"], s["n"], s["k"]}, request_.transpose_a, request_.transpose_b}, operands[Bytes{0}],
        operands[Bytes{1}]);
    const auto size = [](int64_t value) { return static_cast<int>(value); };
    const int type = cublas_type(request_.type);
    const float one = 1, zero = 0;
    RONDO_RETURN_IF_ERROR(status(cublas_.set_stream(handle_, stream)));
    // Setting the stream resets the workspace.
    RONDO_RETURN_IF_ERROR(
        status(cublas_.set_workspace(handle_, workspace_.data(), static_cast<size_t>(workspace_.bytes()))));
    return status(cublas_.gemm(handle_, gemm.transpose_first, gemm.transpose_second, size(gemm.m),
                               size(gemm.n), size(gemm.k), &one, gemm.first, type, size(gemm.first_ld),
                               gemm.second, type, size(gemm.second_ld), &zero, operands[Bytes{2}], type,
                               size(gemm.result_ld), compute_type(request_.math), -1));
  }

  Status status(int code) const {
    if (code == 0) return {};
    return Status(StatusCode::device_failed, concat("cuBLAS: ", cublas_.status_string(code)));
  }
  void check(int code) const { throw_if_error(status(code)); }

  CublasFunctions cublas_;
  Buffer<unsigned char> workspace_;
  void* handle_ = nullptr;
  std::string name_;
  bench::OperatorRequest request_;
};

}  // namespace

CublasFunctions find_cublas(const std::function<void*(const std::string& name)>& find) {
  CublasFunctions f;
  const auto take = [&]<class Function>(Function& to, const char* name) {
    void* const address = find(name);
    if (!address) throw Error(bad_argument("--peer cublas: the library has no function ", name));
    to = reinterpret_cast<Function>(address);
  };
  take(f.create, "cublasCreate_v2");
  take(f.destroy, "cublasDestroy_v2");
  take(f.version, "cublasGetVersion_v2");
  take(f.set_stream, "cublasSetStream_v2");
  take(f.set_workspace, "cublasSetWorkspace_v2");
  take(f.status_string, "cublasGetStatusString");
  take(f.gemm, "cublasGemmEx");
  return f;
}

CublasFunctions load_cublas() {
  return find_cublas(load_library("cublas", {"libcublas.so.13", "libcublas.so.12", "libcublas.so"}));
}

std::unique_ptr<BenchPeer> make_cublas_peer(const CublasFunctions& functions) {
  return std::make_unique<CublasPeer>(functions);
}

}  // namespace rondo::program
