#include <rondo/tools/rondo/judge/arguments.h>
#include <rondo/tools/rondo/judge/judge.h>
#include <rondo/tools/rondo/support/byte_count.h>
#include <rondo/tools/rondo/support/option_readers.h>
#include <simt/gpus.h>

#include <cstdlib>
#include <limits>

namespace rondo::program {
namespace {

constexpr int kMostSeeds = 1000, kMostHints = 100;

void add_name_of_problem(const Command& command, std::string& to) {
  command
      .add("name", "NAME", "The problem: rondo judge list shows all", [&to](const std::string& s) { to = s; })
      .required();
  command.when_missing("no problem was named; rondo judge list shows all");
}

void add_start_options(const Command& start, JudgeStartArguments& to) {
  add_name_of_problem(start, to.name);
  add_path(start, "--folder", "FOLDER", "Where the files are written [.]", to.folder);
}

void add_show_options(const Command& show, JudgeShowArguments& to) {
  add_name_of_problem(show, to.name);
  add_integer(show, "--hints", "N", "Also show the first N hints [0]", to.hints, 0, kMostHints);
}

void add_check_options(const Command& check, JudgeCheckArguments& to) {
  check
      .add("file", "FILE.cu", "The solution", [&to](const std::string& s) { to.file = read_path("FILE", s); })
      .required();
  check.when_missing("no solution was named: rondo judge check NAME.cu");
  check.add("--problem", "NAME", "The problem [the name of the file]",
            [&to](const std::string& s) { to.problem = s; });
  check.add("--gpu", "NAME",
            concat("The GPU of the limits and the times: ", simt::gpu_names(), " [", to.gpu, "]"),
            [&to](const std::string& s) {
              if (!simt::gpu_named(s))
                throw Error(bad_argument("--gpu is '", s, "', must be ", simt::gpu_names()));
              to.gpu = s;
            });
  check.add("--seed", "N",
            concat("The first seed, of the values and of the order of threads [", to.seed, "]"),
            [&to](const std::string& s) {
              to.seed = read_integer<uint64_t>("--seed", s, 0, std::numeric_limits<uint64_t>::max());
            });
  add_integer(check, "--seeds", "N", concat("The number of seeds [", to.seeds, "]"), to.seeds, 1, kMostSeeds);
  check.add("--time", "SEC",
            concat("The most seconds of a run; with checks and counts 6 times as many [", to.seconds, "]"),
            [&to](const std::string& s) { to.seconds = read_seconds("--time", s); });
  check.add("--memory", "SIZE", "The most memory of a run [2GiB]", [&to](const std::string& s) {
    to.memory_bytes = parse_byte_count("--memory", s, int64_t{64} << 20);
  });
  check.add("--compiler", "NAME", "The C++ compiler [g++]",
            [&to](const std::string& s) { to.compiler = read_path("--compiler", s); });
  add_path(check, "--json", "FILE.json",
           "Also write the verdict; -: to the standard output, instead of the text", to.json);
  add_path(check, "--svg", "FILE.svg", "Also draw the times", to.svg);
}

}  // namespace

void add_judge(Program& program) {
  const Command judge = program.command().add_command(
      "judge", "Problems for students of CUDA, and the judge of their solutions");
  judge.require_command();
  judge.when_missing("no command of judge was named, must be list, start, show or check: rondo judge list");
  struct None {};
  program.add<None>(
      judge, "list", "List the problems", [](const Command&, None&) {},
      [](const None&, const RunContext& context) { list_problems(context.out); });
  program.add<JudgeStartArguments>(judge, "start", "Write the page of a problem and a file to begin with",
                                   add_start_options,
                                   [](const JudgeStartArguments& arguments, const RunContext& context) {
                                     start_problem(arguments, context.out);
                                   });
  program.add<JudgeShowArguments>(judge, "show", "Show the page of a problem", add_show_options,
                                  [](const JudgeShowArguments& arguments, const RunContext& context) {
                                    show_problem(arguments, context.out);
                                  });
  program.add<JudgeCheckArguments>(judge, "check", "Judge a solution: rondo judge check NAME.cu",
                                   add_check_options,
                                   [](const JudgeCheckArguments& arguments, const RunContext& context) {
                                     const int code = check_solution(arguments, context.out);
                                     context.out << std::flush;
                                     if (code != 0) std::exit(code);
                                   });
}

}  // namespace rondo::program
