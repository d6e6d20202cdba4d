#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/cuda/nvcc_options.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace rondo::program {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == text.npos;
}

// "sm_90", "compute_100f"
bool is_one_architecture(std::string_view text) {
  for (const std::string_view prefix : {"sm_", "compute_", "lto_"}) {
    if (!text.starts_with(prefix)) continue;
    text.remove_prefix(prefix.size());
    if (text.ends_with('a') || text.ends_with('f')) text.remove_suffix(1);
    return is_number(text) && (text.size() == 2 || text.size() == 3);
  }
  return false;
}

bool is_architecture(std::string_view text) {
  return is_one_architecture(text) || text == "native" || text == "all" || text == "all-major";
}

// "sm_90", "sm_80,sm_90", "[sm_90,compute_90]"
bool is_code(std::string_view text) {
  for (const auto& [open, close] : {std::pair('[', ']'), std::pair('"', '"')})
    if (text.size() >= 2 && text.front() == open && text.back() == close)
      text = text.substr(1, text.size() - 2);
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (!is_architecture(text.substr(begin, end - begin))) return false;
    begin = end + 1;
  }
  return true;
}

// "arch=compute_90,code=sm_90"
bool is_generated_code(std::string_view text) {
  constexpr std::string_view kArch = "arch=", kCode = ",code=";
  const size_t code = text.find(kCode);
  return text.starts_with(kArch) && code != text.npos &&
         is_one_architecture(text.substr(kArch.size(), code - kArch.size())) &&
         is_code(text.substr(code + kCode.size()));
}

bool is_bool(std::string_view text) { return text == "true" || text == "false"; }
bool is_anything(std::string_view) { return true; }

struct Values {
  const char* placeholder;
  bool (*has)(std::string_view);
  const char* must_be;
};
constexpr Values kNone = {nullptr, nullptr, nullptr};
constexpr Values kArchitectures = {"ARCH", is_architecture, "sm_90, compute_90, native, all or all-major"};
constexpr Values kCodes = {"ARCH,...", is_code, "sm_90, compute_90 or a list of such"};
constexpr Values kGeneratedCodes = {"arch=ARCH,code=ARCH", is_generated_code,
                                    "arch=compute_90,code=sm_90 or arch=compute_90,code=[sm_90,compute_90]"};
constexpr Values kBool = {"BOOL", is_bool, "true or false"};
constexpr Values kNumber = {"COUNT", is_number, "a number"};
constexpr Values kAny = {"TEXT", is_anything, ""};
constexpr Values kRuntimes = {
    "KIND", [](std::string_view text) { return text == "none" || text == "shared" || text == "static"; },
    "none, shared or static"};
constexpr Values kWidths = {"BITS", [](std::string_view text) { return text == "64"; }, "64"};
// Another default stream would be another program.
constexpr Values kDefaultStreams = {"KIND", [](std::string_view text) { return text == "legacy"; },
                                    "legacy; cudaStreamPerThread in the source is the other default stream"};

struct Ignored {
  const char *name, *short_name;
  Values values;
  const char* why;
};
constexpr const char* kAccuracy = "Functions are as accurate as the C library's, and nothing is flushed to 0";
constexpr const char* kAlways = "Such code is always possible";
constexpr const char* kNoCode = "There is no code of a GPU";
constexpr Ignored kIgnored[] = {
    {"--gpu-architecture", "-arch", kArchitectures, "--gpu sets the limits of a GPU"},
    {"--gpu-code", "-code", kCodes, "--gpu sets the limits of a GPU"},
    {"--generate-code", "-gencode", kGeneratedCodes, "--gpu sets the limits of a GPU"},
    {"--generate-line-info", "-lineinfo", kNone, "--check, --bounds and --count have lines without it"},
    {"--use_fast_math", "-use_fast_math", kNone, kAccuracy},
    {"--ftz", "-ftz", kBool, kAccuracy},
    {"--prec-div", "-prec-div", kBool, kAccuracy},
    {"--prec-sqrt", "-prec-sqrt", kBool, kAccuracy},
    {"--extended-lambda", "-extended-lambda", kNone, kAlways},
    {"--expt-extended-lambda", "-expt-extended-lambda", kNone, kAlways},
    {"--expt-relaxed-constexpr", "-expt-relaxed-constexpr", kNone, kAlways},
    {"--relocatable-device-code", "-rdc", kBool, "Sources always see each other's device functions"},
    {"--maxrregcount", "-maxrregcount", kNumber, kNoCode},
    {"--resource-usage", "-res-usage", kNone, kNoCode},
    {"--ptxas-options", "-Xptxas", kAny, kNoCode},
    {"--nvlink-options", "-Xnvlink", kAny, kNoCode},
    {"--dlink-time-opt", "-dlto", kNone, kNoCode},
    {"--restrict", "-restrict", kNone, kNoCode},
    {"--cudafe-options", "-Xcudafe", kAny, "The compiler alone reads the source"},
    {"--diag-suppress", "-diag-suppress", kAny, "-Xcompiler -Wno-... turns warnings of the compiler off"},
    {"--Wno-deprecated-gpu-targets", "-Wno-deprecated-gpu-targets", kNone, "There is no such warning"},
    {"--allow-unsupported-compiler", "-allow-unsupported-compiler", kNone, "--compiler takes any name"},
    {"--cudart", "-cudart", kRuntimes, "The executor is the runtime"},
    {"--default-stream", "-default-stream", kDefaultStreams, "It is the default"},
    {"--machine", "-m", kWidths, "It is the default"},
    {"--threads", "-t", kNumber, "Sources are compiled one after another"},
};

// Of options that have a meaning. With "=" the new name has its value.
struct OtherName {
  std::string_view name, here;
};
constexpr OtherName kOtherNames[] = {
    {"-std", "--std"},
    {"-Xcompiler", "--compiler-option"},
    {"--compiler-options", "--compiler-option"},
    {"--compiler-option", "--compiler-option"},
    {"-ccbin", "--compiler"},
    {"--compiler-bindir", "--compiler"},
    {"-Xlinker", "--linker-options"},
    {"-isystem", "--system-include"},
    {"--x", "-x"},
    {"-dc", "-c"},
    {"--device-c", "-c"},
    {"--output-file", "-o"},
    {"--include-path", "-I"},
    {"--define-macro", "-D"},
    {"--library-path", "-L"},
    {"--library", "-l"},
    {"--optimize", "-O"},
    {"-fmad", "--fmad"},
    {"-m64", "--machine=64"},
    {"-g", "--compiler-option=-g"},
    {"--debug", "--compiler-option=-g"},
    {"-G", "--compiler-option=-g"},
    {"--device-debug", "--compiler-option=-g"},
    {"-w", "--compiler-option=-w"},
    {"--disable-warnings", "--compiler-option=-w"},
    {"-pthread", "--compiler-option=-pthread"},
};

// Steps of nvcc that `rondo cuda` does not have.
struct Refused {
  std::string_view name, short_name, why;
};
constexpr std::string_view kNoCodeOfAGpu =
    "there is no code of a GPU; tools/ptx runs programs that nvcc has built";
constexpr std::string_view kLink = "the program is linked from the objects of -c";
constexpr Refused kRefused[] = {
    {"--ptx", "-ptx", kNoCodeOfAGpu},
    {"--cubin", "-cubin", kNoCodeOfAGpu},
    {"--fatbin", "-fatbin", kNoCodeOfAGpu},
    {"--device-link", "-dlink", kLink},
    {"--device-w", "-dw", "-c writes objects, which see each other's device functions"},
    {"--lib", "-lib", "ar makes a library of the objects of -c"},
    {"--shared", "-shared", kLink},
    {"--preprocess", "-E", "g++ -E -x c++ preprocesses a source"},
};

constexpr std::string_view kLibraries[] = {"cudart", "cudart_static", "cudadevrt", "cuda",
                                           "cublas", "cublas_static", "cublasLt",  "cublasLt_static"};

}  // namespace

void add_nvcc_options(const Command& cuda) {
  static bool given = false;  // nobody asks
  for (const Ignored& option : kIgnored) {
    const std::string name = option.name, short_name = option.short_name;
    const bool both = short_name.size() == 2, same = name == "-" + short_name;
    const std::string help =
        concat("Ignored", both || same ? "" : concat(", as ", short_name), ". ", option.why);
    const std::string names = both ? short_name + "," + name : name;
    const Values values = option.values;
    const Option added = values.placeholder
                             ? cuda.add_list(names, values.placeholder, help,
                                             [=](const std::string& value) {
                                               if (!values.has(value))
                                                 throw Error(bad_argument(short_name, " is '", value,
                                                                          "', must be ", values.must_be));
                                             })
                             : cuda.add_flag(names, given, help);
    added.in_group("Options of nvcc without a meaning here");
  }
}

void replace_nvcc_names(std::vector<std::string>& words) {
  std::vector<std::string> result;
  bool is_value = false;
  for (const std::string& word : words) {
    if (std::exchange(is_value, false)) {
      result.push_back(word);
      continue;
    }
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    for (const Refused& option : kRefused)
      if (name == option.name || name == option.short_name)
        throw Error(bad_argument("rondo cuda has no ", name, ": ", option.why));
    std::string_view here;
    bool has_value = true;
    for (const Ignored& option : kIgnored)
      if (name == option.short_name || name == option.name) {
        here = option.name;
        has_value = option.values.placeholder;
      }
    for (const OtherName& other : kOtherNames)
      if (name == other.name) here = other.here;
    if (here.find('=') != here.npos) has_value = false;
    if (here.empty() && word.starts_with("-W") && word.find(',') == word.npos) {  // not -Wl,-rpath,...
      result.push_back("--compiler-option=" + word);
    } else if (here.empty()) {
      result.push_back(word);
    } else if (!has_value && equals != word.npos) {  // the parser refuses it
      result.push_back(std::string(here) + word.substr(equals));
    } else {
      result.emplace_back(here);
      is_value = has_value && equals == word.npos;
      if (has_value && equals != word.npos) result.push_back(word.substr(equals + 1));
    }
  }
  words = std::move(result);
}

bool executor_has_library(const std::string& name) {
  return std::find(std::begin(kLibraries), std::end(kLibraries), name) != std::end(kLibraries);
}

}  // namespace rondo::program
