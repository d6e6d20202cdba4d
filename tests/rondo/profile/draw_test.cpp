// `rondo profile --draw`: which requests it draws, and what it refuses.
#include <gtest/gtest.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/rondo/support/xml.h>
#include <rondo/tools/rondo/profile/draw.h>
#include <rondo/tools/rondo/profile/profile_command.h>

#include <sstream>

namespace rondo::program {
namespace {

using test::error_of;
using test::missing;
using test::XmlCheck;

// Loads of shared memory in line 7 of a.cuh, which line `caller` of kernel.cu calls. Lane i reads word
// i * stride.
simt::AccessCounts loads(uint64_t stride, int caller, uint64_t requests) {
  simt::AccessCounts access;
  access.space = simt::AccessSpace::shared;
  access.bytes = 4;
  access.requests = requests;
  access.inlined = {{"../../kernels/a.cuh", 7, "load"}, {"../../kernels/kernel.cu", caller, "kernel"}};
  access.worst.active = 0xFFFFFFFF;
  for (uint64_t lane = 0; lane < 32; ++lane) access.worst.address[lane] = 4 * stride * lane;
  return access;
}

ProfileReport report_of(const std::vector<std::vector<simt::AccessCounts>>& kernels) {
  ProfileReport report;
  ProfiledPart& part = report.parts.emplace_back();
  part.name = "forward";
  for (const auto& accesses : kernels) {
    ProfiledKernel& kernel = part.kernels.emplace_back();
    kernel.name = "kernel_" + std::to_string(part.kernels.size());
    kernel.profile.accesses = accesses;
  }
  return report;
}

TEST(DrawLine, ShowsTheWorstRequestOfAllKernels) {
  const ProfileReport report = report_of(
      {{loads(1, 20, 3), loads(2, 20, 1000)}, {loads(4, 20, 40), loads(8, 20, 5)}, {loads(1, 20, 6)}});
  const std::vector<AccessDrawing> drawings = drawings_of_line(report, "kernel.cu:20");
  ASSERT_EQ(drawings.size(), 1u);
  EXPECT_EQ(drawings[0].title, "kernels/a.cuh:7 (kernel.cu:20): shared load of 4 bytes per thread");
  EXPECT_EQ(drawings[0].subtitle, "kernel_2 (forward), the worst of 1,054 requests");
  EXPECT_EQ(drawings[0].summary(), "wavefronts 8, at least 1: 7 bank conflicts, 8-way");
  EXPECT_EQ(drawings[0].access.address[31], 31u * 32);
}

TEST(DrawLine, EachAccessOfALineIsDrawn) {
  simt::AccessCounts store = loads(1, 20, 1), from = loads(1, 20, 1);
  store.kind = simt::AccessKind::async_copy_store;
  from.kind = simt::AccessKind::async_copy_load;
  from.space = simt::AccessSpace::global;
  for (uint64_t& address : from.worst.address) address += 0x7f0000000010;
  from.worst.active = 0xF;
  const std::vector<AccessDrawing> drawings =
      drawings_of_line(report_of({{store, from, loads(1, 21, 1)}}), "kernels/a.cuh:7 (kernel.cu:20)");
  ASSERT_EQ(drawings.size(), 2u);
  const AccessDrawing &global = drawings[0], &shared = drawings[1];
  EXPECT_TRUE(shared.shared && shared.store);
  EXPECT_FALSE(global.shared);
  EXPECT_EQ(global.access.address[0], 16u);
  EXPECT_EQ(missing(global.title + global.subtitle,
                    {"global cp.async load", "4 of 32 threads active", "addresses from its first sector"}),
            "");
  EXPECT_EQ(
      missing(drawing_text(global, {}), {"\n0         .  .  .  .  0  1  2  3\n", "sectors 1, at least 1"}),
      "");
  // Both in one picture, one below the other.
  const std::string svg = drawings_svg(drawings);
  EXPECT_EQ(XmlCheck::fault(svg), "");
  EXPECT_EQ(missing(svg, {"shared cp.async store", "global cp.async load", "wavefront 1, bank 31: thread 31",
                          "address 28: thread 3"}),
            "");
}

TEST(DrawLine, LinesOfOtherFilesDoNotMatch) {
  const ProfileReport report = report_of({{loads(1, 20, 1), loads(1, 21, 1)}});
  EXPECT_EQ(drawings_of_line(report, "a.cuh:7").size(), 2u);  // from two lines of the kernel
  EXPECT_EQ(drawings_of_line(report, "kernels/a.cuh:7").size(), 2u);
  for (const char* line : {"el.cu:20", "kernel.cu:2", "cuh:7", "kernel.cu:20)", "a.cuh:20"})
    EXPECT_NE(error_of([&] { drawings_of_line(report, line); }), "") << line;
}

// The lines of the file that was named, or all.
TEST(DrawLine, ARefusalListsTheLines) {
  simt::AccessCounts other = loads(1, 20, 1);
  other.inlined = {{"../../kernels/other.cu", 3, "kernel"}};
  const ProfileReport report = report_of({{loads(1, 20, 1), other}});
  EXPECT_EQ(error_of([&] { drawings_of_line(report, "kernel.cu:9"); }),
            "--draw is 'kernel.cu:9', must be a line of the profile: kernels/a.cuh:7 (kernel.cu:20)");
  EXPECT_EQ(error_of([&] { drawings_of_line(report, "b.cu:9"); }),
            "--draw is 'b.cu:9', must be a line of the profile: kernels/a.cuh:7 (kernel.cu:20), "
            "kernels/other.cu:3");
}

TEST(DrawLine, OptionsAreChecked) {
  const auto parsed = [](std::vector<const char*> words) {
    Program program("rondo", "", "");
    add_profile(program);
    words.insert(words.begin(), "rondo");
    return std::any_cast<ProfileArguments>(program.parse({words.begin(), words.end()}).arguments);
  };
  for (const char* bad : {"", "20", "gemm.cu", "gemm.cu:", "gemm.cu:x", ":20"})
    EXPECT_EQ(error_of([&] {
                parsed({"profile", "gemm", "--draw", bad});
              }),
              concat("--draw is '", bad, "', must be a file and a line, such as gemm.cu:23"));
  const ProfileArguments arguments = parsed({"profile", "gemm", "--draw-svg", "lanes.svg"});
  std::ostringstream out;
  EXPECT_EQ(error_of([&] { show_profile(arguments, out, {}); }),
            "--draw-svg is 'lanes.svg', needs --draw FILE:LINE");
}

}  // namespace
}  // namespace rondo::program
