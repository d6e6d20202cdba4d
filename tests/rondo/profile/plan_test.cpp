// `rondo profile gemm --plan`: what gemm() chooses, and that it launches that.
#include <gtest/gtest.h>
#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/profile/plan.h>
#include <rondo/tools/rondo/profile/profile.h>
#include <rondo/tools/rondo/profile/profile_command.h>

#include <sstream>
#include <string>

namespace rondo::program {
namespace {

ProfileArguments product_of(int64_t m, int64_t n, int64_t k, const char* gpu) {
  ProfileArguments arguments;
  arguments.m = m, arguments.n = n, arguments.k = k;
  arguments.gpu = gpu;
  return arguments;
}

std::string shown(ProfileArguments arguments) {
  arguments.plan = true;
  std::ostringstream text;
  show_profile(arguments, text, Terminal());
  return text.str();
}

TEST(Plan, IsShownForEveryGpu) {
  ProfileArguments arguments = product_of(4096, 4096, 4096, "all");
  arguments.math = Math::tf32;
  EXPECT_EQ(shown(arguments), R"(gemm 4096 x 4096 x 4096, tf32
gpu      capability  gemm() chooses
t4       7.5         none: tf32 needs compute capability 8.0
a100     8.0         tc_04_pipelined, pipelined: tile 128x128 tf32, 1 part of k = 4096
rtx4090  8.9         tc_04_pipelined, pipelined: tile 128x128 tf32, 1 part of k = 4096
h100     9.0         tc_08_clusters, persistent: tile 2 of 128x256, 1 part of k = 4096, transposed copy of b
h200     9.0         tc_08_clusters, persistent: tile 2 of 128x256, 1 part of k = 4096, transposed copy of b
b200     10.0        tc_04_pipelined, pipelined: tile 128x128 tf32, 1 part of k = 4096
rtx5090  12.0        tc_04_pipelined, pipelined: tile 128x128 tf32, 1 part of k = 4096
)");
}

TEST(Plan, OfOneGpu) {
  ProfileArguments arguments = product_of(512, 512, 512, "t4");
  arguments.transpose_b = true;
  arguments.type = DType::float16;
  EXPECT_EQ(shown(arguments), R"(gemm 512 x 512 x 512, B transposed, float16
gpu  capability  gemm() chooses
t4   7.5         tc_04_pipelined, pipelined: tile 64x64 fp16, 2 parts of k = 256
)");
  arguments.type = DType::bfloat16;
  EXPECT_NE(shown(arguments).find("none: bfloat16 needs compute capability 8.0"), std::string::npos)
      << shown(arguments);
}

TEST(Plan, BadArgumentsAreRefused) {
  const auto message = [](const ProfileArguments& arguments) -> std::string {
    try {
      return "no error, but: " + shown(arguments);
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_NE(message(product_of(64, 64, 64, "voodoo")).find("--gpu is 'voodoo', must be one of: t4, "),
            std::string::npos);
  ProfileArguments arguments = product_of(64, 64, 64, "all");
  arguments.type = DType::float16;
  arguments.math = Math::tf32x3;
  EXPECT_NE(message(arguments).find("--math is 'tf32x3', which is for --type float32"), std::string::npos);
}

// In a build that observes kernels: one product for each rung that gemm() chooses from on an H100. A process
// cannot profile for a second GPU.
TEST(Plan, IsLaunched) {
  if (!simt::can_observe()) GTEST_SKIP() << "needs RONDO_OBSERVE";
  struct Case {
    int64_t m, n, k;
    DType type;
    Math math;
    const char* rung;
    const char* kernel;
  };
  for (const Case& c : {
           Case{200, 200, 64, DType::float32, Math::fp32, "06_pipelined", "gemm_pipelined_kernel"},
           Case{200, 200, 64, DType::float32, Math::tf32x3, "tc_04_pipelined",
                "gemm_pipelined_kernel<TensorTile<(Arithmetic)2"},
           Case{1408, 3072, 64, DType::bfloat16, Math::fp32, "tc_07_persistent",
                "gemm_persistent_kernel"},
           Case{1408, 1408, 64, DType::float32, Math::tf32x3, "tc_07_persistent",
                "gemm_persistent_tf32x3_kernel"},
           Case{4096, 4096, 64, DType::float16, Math::fp32, "tc_08_clusters", "gemm_clusters_kernel"},
           Case{1792, 2560, 2048, DType::bfloat16, Math::fp32, "tc_09_stream_k",
                "gemm_stream_k_kernel"},
       }) {
    SCOPED_TRACE(concat(c.rung, ", ", name_of(c.type), ", ", name_of(c.math)));
    ProfileArguments arguments = product_of(c.m, c.n, c.k, "h100");
    arguments.transpose_b = true;
    arguments.type = c.type;
    arguments.math = c.math;
    arguments.blocks = 2;
    const ProfileReport report = run_profile(arguments);
    EXPECT_EQ(report.plan.find(c.rung), 0u) << report.plan;
    bool launched = false;
    for (const ProfiledKernel& kernel : report.parts.front().kernels)
      launched |= kernel.name.find(c.kernel) != std::string::npos;
    EXPECT_TRUE(launched) << report.parts.front().kernels.front().name;
    std::ostringstream text;
    show_profile_text(report, false, text);
    EXPECT_NE(text.str().find("\ngemm() chooses " + report.plan + "\n"), std::string::npos) << text.str();
    EXPECT_NE(profile_json(report).find("\"plan\": \"" + report.plan + "\""), std::string::npos);
  }
  ProfileArguments rung = product_of(64, 64, 64, "h100");
  rung.variant = "01_naive";
  EXPECT_EQ(run_profile(rung).plan, "");
}

}  // namespace
}  // namespace rondo::program
