// Programs that nvcc -cudart shared built, run by tools/ptx/run: a textbook program as it is, and programs
// with a mistake, whose message names the line.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

namespace {

struct Result {
  std::string text;  // stdout and stderr
  int status = -1;
};

Result run(const std::string& command) {
  Result result;
  FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return result;
  std::array<char, 4096> part;
  for (size_t bytes; (bytes = std::fread(part.data(), 1, part.size(), pipe)) > 0;)
    result.text.append(part.data(), bytes);
  result.status = pclose(pipe);
  return result;
}

std::string program(const std::string& name, const std::string& gpu = "h100") {
  return "PTX_ALLOW= SIMT_GPU=" + gpu + " PTX_LIBRARY=" PTX_LIBRARY " " PTX_RUN " " PTX_PROGRAMS "/" + name;
}

constexpr const char* kTextbook =
    "all 3 blocks: 2500.0\n"
    "weighted sum 2500.0, time measured: yes\n"
    "sums of 8: 28, 2012\n"
    "rotated: 132\n"
    "scan: 32640\n"
    "sorted: 255, 0\n"
    "managed: 42\n";

TEST(PtxPrograms, ATextbookProgramRunsUnchanged) {
  const Result result = run(program("textbook"));
  EXPECT_EQ(result.text, kTextbook);
  EXPECT_EQ(result.status, 0);
}

// nvcc --default-stream per-thread: other names of the runtime's functions.
TEST(PtxPrograms, TheDefaultStreamMayBeThatOfTheThread) {
  const Result result = run(program("textbook_per_thread"));
  EXPECT_EQ(result.text, kTextbook);
  EXPECT_EQ(result.status, 0);
}

TEST(PtxPrograms, LessUsualFunctionsHaveNamesForTheStreamOfTheThread) {
  EXPECT_EQ(run(program("per_thread")).text,
            "box: 3 3\nbox on a stream: 5 5, called 1 times\nids: 1 1 1 1\nno error\n");
}

TEST(PtxPrograms, ATextbookProgramRunsInDrawnOrders) {
  for (const char* seed : {"1", "2", "3"}) {
    const Result result = run("SIMT_SEED=" + std::string(seed) + " " + program("textbook"));
    EXPECT_EQ(result.text, kTextbook) << "seed " << seed;
  }
}

TEST(PtxPrograms, KernelsAllocateObjectsAndCallTheirFunctions) {
  EXPECT_EQ(run(program("objects")).text, "-4048, expected -4048, no error\n");
}

TEST(PtxPrograms, FunctionsWithCodeOfNvccComputeWhatTheHostDoes) {
  EXPECT_EQ(run(program("intrinsics")).text,
            "128-bit divisions: 0 wrong, no error\n"
            "functions of halves: 0 wrong, no error\n"
            "integers are checked\n");
}

TEST(PtxPrograms, GraphsAreBuiltNodeByNode) {
  for (const char* seed : {"", "1", "2"})
    EXPECT_EQ(run("SIMT_SEED=" + std::string(seed) + " " + program("graphs")).text,
              "sum 169175.0, all 169175.0\n"
              "sum 217.0, all 169392.0\n"
              "sum 5000.0, all 174392.0\n"
              "updated: sum 6.5, 7 nodes, 6 edges\n")
        << "seed " << seed;
}

// nvcc -rdc=true. The sums are 3 i + 1 + 0.5, in the opposite order, plus 2, times 10, plus 8.
TEST(PtxPrograms, FilesMayBeLinked) {
  const Result result = run(program("linked"));
  EXPECT_EQ(result.text, "added 1 twice\nadded 4 twice\n133 103 73 43\n");
  EXPECT_EQ(result.status, 0);
  const Result wrong = run(program("linked") + " past");
  EXPECT_NE(wrong.text.find("linked.cu:12: st."), std::string::npos) << wrong.text;
  const Result old = run(program("linked", "t4"));
  const std::string refused = "the program's PTX (8.0) does not run on a device of compute capability 7.5";
  EXPECT_NE(old.text.find(refused), std::string::npos) << old.text;
}

TEST(PtxPrograms, AReportHasTheKernelsAndFormsOfAllProcesses) {
  const std::string file = testing::TempDir() + "ptx_report_" + std::to_string(getpid());
  const std::string one = "PTX_REPORT=" + file + " " + program("textbook");
  run(one + " & " + one + "; wait");
  std::ifstream report(file);
  const std::string text((std::istreambuf_iterator<char>(report)), {});
  std::remove(file.c_str());
  EXPECT_NE(text.find("- R _Z6rotatePiS_i\n"), std::string::npos) << text;
  EXPECT_NE(text.find("90 K 2 _Z12weighted_sumiPKfPf\n"), std::string::npos) << text;  // of three blocks
  EXPECT_NE(text.find(" ld.global"), std::string::npos) << text;
}

// tools/ptx/coverage of a report and of a list of kernels that can't be launched.
Result coverage(const std::string& report, const std::string& named) {
  const std::string file = testing::TempDir() + "ptx_coverage_" + std::to_string(getpid());
  std::ofstream(file) << report;
  std::ofstream(file + ".named") << named;
  const Result result = run(PTX_COVERAGE " " + file + " " + file + ".named");
  std::remove(file.c_str());
  std::remove((file + ".named").c_str());
  return result;
}

// Of the kernels a() and b<int>(), 8.0 launched both and 9.0 only a().
constexpr const char* kReport =
    "- R _Z1av\n- R _Z1bIiEvv\n80 K 2 _Z1av\n80 K 1 _Z1bIiEvv\n90 F 0 mul.f32\n90 F 7 add.f32\n"
    "90 K 1 _Z1av\n";

TEST(PtxCoverage, AKernelThatIsNeitherLaunchedNorNamedIsAMistake) {
  const Result result = coverage(kReport, "");
  EXPECT_EQ(result.text,
            "architecture 80: 2 of 2 kernels launched, 0 named as impossible; 0 of 0 forms of instructions "
            "executed\n"
            "architecture 90: 1 of 2 kernels launched, 0 named as impossible; 1 of 2 forms of instructions "
            "executed\n"
            "  forms that were only decoded: mul.f32\n"
            "  not launched: b<int>\n");
  EXPECT_NE(result.status, 0);
}

TEST(PtxCoverage, ANamedKernelMayBeMissing) {
  const Result result = coverage(kReport, "# why\n90  b<.*>  # it needs wgmma\n");
  EXPECT_EQ(result.text.find("not launched"), std::string::npos) << result.text;
  EXPECT_EQ(result.status, 0) << result.text;
}

TEST(PtxCoverage, ANamedKernelThatIsLaunchedIsAMistake) {
  const Result result = coverage(kReport, "*  b<.*>  # it needs wgmma\n");
  EXPECT_NE(result.text.find("launched, although ptx_coverage_"), std::string::npos) << result.text;
  EXPECT_NE(result.text.find("says 'it needs wgmma': b<int>\n"), std::string::npos) << result.text;
  EXPECT_NE(result.status, 0);
}

TEST(PtxCoverage, ALineForNoKernelIsAMistake) {
  const Result result = coverage(kReport, "90  b<.*>  # it needs wgmma\n90  c  # none has this name\n");
  EXPECT_NE(result.text.find(".named:2 names no kernel: c\n"), std::string::npos) << result.text;
  EXPECT_NE(result.status, 0);
  EXPECT_NE(coverage(kReport, "90  b<.*>\n").text.find("is not ARCHITECTURE EXPRESSION # REASON"),
            std::string::npos);
}

// nvcc --compress-mode: the text itself, LZ4, and two levels of Zstandard.
TEST(PtxPrograms, PtxIsFoundHoweverItIsCompressed) {
  for (const char* mode : {"none", "speed", "balance", "size"}) {
    const Result result = run(program("sum_" + std::string(mode)));
    EXPECT_EQ(result.text, "500, no error\n") << mode;
  }
}

TEST(PtxPrograms, ADeviceRunsTheNewestCodeThatItCan) {
  const std::pair<const char*, const char*> expected[] = {
      {"t4", "750\n"},      {"a100", "800\n"},
      {"rtx4090", "800\n"}, {"h100", "900 with the features of 9.0 alone\n"},
      {"b200", "1000\n"},   {"rtx5090", "1200\n"},
  };
  for (const auto& [gpu, text] : expected) EXPECT_EQ(run(program("architecture", gpu)).text, text) << gpu;
}

TEST(PtxPrograms, PtxOfANewerArchitectureIsRefused) {
  const Result result = run(program("sum_none", "a100"));
  EXPECT_NE(result.text.find("9.0a) does not run on a device of compute capability 8.0"), std::string::npos)
      << result.text;
}

TEST(PtxPrograms, MachineCodeAloneIsRefused) {
  const Result result = run(program("sum_sass"));
  EXPECT_NE(result.text.find("the program has machine code (9.0) and no PTX"), std::string::npos)
      << result.text;
}

TEST(PtxPrograms, AFolderWithoutTheLibraryIsRefused) {
  const Result result = run("PTX_LIBRARY=/nowhere " PTX_RUN " " PTX_PROGRAMS "/sum_none");
  EXPECT_EQ(result.text, "tools/ptx/run: PTX_LIBRARY=/nowhere has no libcudart.so.13\n");
  EXPECT_NE(result.status, 0);
}

// A kernel polls memory of the host, with and without a pause, until the host writes it.
TEST(PtxPrograms, AKernelMayWaitForTheHost) {
  for (const char* name : {"loop", "sleep", "copy"}) {
    const Result result = run("PTX_PATIENCE=1 " + program("released ") + name);
    EXPECT_EQ(result.text, "cudaSuccess\nreleased after 2 seconds: 7\n") << name;
  }
}

TEST(PtxPrograms, APatienceIsAWholeNumberOfSeconds) {
  for (const char* value : {"0", "1.5", "-1", "ten", "1000001"}) {
    const Result result = run("PTX_PATIENCE=" + std::string(value) + " " + program("sum_none"));
    EXPECT_EQ(result.text, "ptx: PTX_PATIENCE=" + std::string(value) +
                               ": not a whole number of seconds from 1 to 1000000\n");
    EXPECT_NE(result.status, 0);
  }
}

TEST(PtxPrograms, AnUnknownSettingIsRefused) {
  const Result result = run("PTX_LATE=copies,never " + program("sum_none"));
  EXPECT_NE(result.text.find("PTX_LATE=copies,never: 'never' is not one of: copies, bulk, products, none"),
            std::string::npos)
      << result.text;
}

// "FILE:NUMBER" of the line with "KIND: NAME" in the comment at its end.
std::string marked_line(const std::string& file, const std::string& kind, const std::string& name) {
  std::ifstream source(PTX_SOURCES "/" + file);
  std::string line;
  for (int number = 1; std::getline(source, line); ++number)
    if (line.ends_with(kind + ": " + name) || line.find(kind + ": " + name + ",") != line.npos)
      return file + ":" + std::to_string(number);
  return "there is no line " + kind + ": " + name;
}

struct Mistake {
  const char* name;
  const char* error;
  const char* message;
};

class PtxMistakes : public testing::TestWithParam<Mistake> {};

TEST_P(PtxMistakes, TheMessageNamesTheLine) {
  const Mistake& mistake = GetParam();
  const Result result = run("PTX_PATIENCE=1 " + program("wrong ") + mistake.name);
  EXPECT_NE(result.text.find(mistake.message), std::string::npos) << result.text;
  EXPECT_NE(result.text.find(std::string(mistake.error) + "\n"), std::string::npos) << result.text;
  if (mistake.error == std::string("cudaSuccess")) return;
  const std::string place = marked_line("wrong.cu", "mistake", mistake.name);
  EXPECT_NE(result.text.find(place), std::string::npos) << place << "\n" << result.text;
}

constexpr Mistake kMistakes[] = {
    {"none", "cudaSuccess", ""},
    {"out_of_bounds", "cudaErrorIllegalAddress", "the end of an allocation of 256 bytes"},
    {"before", "cudaErrorIllegalAddress", "4 bytes before an allocation of 256 bytes"},
    {"misaligned", "cudaErrorMisalignedAddress", "misaligned store of 8 bytes"},
    {"freed", "cudaErrorIllegalAddress", "memory of 256 bytes that has been freed"},
    {"host_pointer", "cudaErrorIllegalAddress", "neither device memory nor pinned host memory"},
    {"other_device", "cudaErrorIllegalAddress", "memory of device 0, which device 1 may not touch"},
    {"shared_end", "cudaErrorIllegalAddress", "the block has 256 bytes"},
    {"missing_lanes", "cudaErrorLaunchFailure", "lane 16, which does not take part"},
    {"half_a_barrier", "cudaErrorLaunchFailure", "deadlock"},
    {"unwritten", "cudaErrorLaunchFailure", "unwritten"},
    {"no_assertion", "cudaErrorAssert", "x[threadIdx.x] == 1"},
    {"trap", "cudaErrorLaunchFailure", "trap"},
    {"held_lock", "cudaErrorLaunchFailure", "deadlock: the warps have only waited in loops for 1 s"},
    {"two_barriers", "cudaErrorLaunchFailure",
     "lanes of a warp wait for each other at different instructions"},
    {"own_mask", "cudaErrorLaunchFailure", "lanes 0xffff0000 execute an instruction for the lanes 0xffff"},
};
INSTANTIATE_TEST_SUITE_P(, PtxMistakes, testing::ValuesIn(kMistakes),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(PtxPrograms, UnwrittenReadsAreAllowedByTheNameOfTheKernel) {
  const auto with = [](const std::string& allowed) {
    const std::string setting = "PTX_ALLOW=";
    std::string command = program("wrong unwritten");
    command.insert(command.find(setting) + setting.size(), allowed);
    return run(command).text;
  };
  EXPECT_EQ(with("unwritten:unwritten"), "cudaSuccess\n");
  EXPECT_EQ(with("proxies,unwritten:writ"), "cudaSuccess\n");
  EXPECT_NE(with("unwritten:trap").find("which nothing has written"), std::string::npos);
  EXPECT_NE(with("unwritten:").find("'unwritten:' is not one of: unwritten, unwritten:NAME, "),
            std::string::npos);
}

// A textbook program with cooperative groups, and the same without one of its synchronisations.
TEST(PtxRaces, AProgramThatIsSynchronisedHasNone) {
  for (const char* seed : {"", "1", "2"})
    for (const char* check : {"races", "none"}) {
      const Result result =
          run("PTX_CHECK=" + std::string(check) + " SIMT_SEED=" + seed + " " + program("races none"));
      EXPECT_EQ(result.text, "cudaSuccess\ntotal 1024.0\n") << "seed " << seed << ", PTX_CHECK=" << check;
    }
}

TEST(PtxRaces, TheMessageNamesBothAccesses) {
  for (const char* name : {"block_sync", "next_round", "grid_sync", "threadfence"}) {
    const Result result = run("PTX_CHECK=races " + program("races ") + name);
    EXPECT_NE(result.text.find("cudaErrorLaunchFailure\n"), std::string::npos) << result.text;
    EXPECT_NE(result.text.find("race at "), std::string::npos) << result.text;
    for (const char* access : {"first", "second"}) {
      const std::string place = marked_line("races.cu", access, name);
      EXPECT_NE(result.text.find(place), std::string::npos) << place << "\n" << result.text;
    }
  }
}

}  // namespace
