#include <rondo/tests/rondo/support/command_line.h>
#include <rondo/tools/rondo/collective/arguments.h>
#include <rondo/tools/rondo/links/arguments.h>
#include <rondo/tools/rondo/train/arguments.h>

namespace rondo::program {
namespace {

using test::error_of;
using test::missing;

CollectiveArguments allreduce(const std::string& options) {
  return parse_as<CollectiveArguments>("allreduce " + options);
}

TEST(CollectiveArguments, Defaults) {
  const CollectiveArguments a = allreduce("");
  EXPECT_EQ(a.verb, Verb::all_reduce);
  EXPECT_FALSE(a.devices);
  EXPECT_FALSE(a.ranks);
  EXPECT_EQ(a.sizes(), std::vector<int64_t>{32 << 20});
  EXPECT_EQ(a.iterations, 20);
  EXPECT_EQ(a.warmup, 1);
  EXPECT_EQ(a.checks, 1);
  EXPECT_EQ(a.dtypes, std::vector<DType>{DType::float32});
  EXPECT_EQ(a.reductions, std::vector<Reduction>{Reduction::sum});
  EXPECT_EQ(a.root, 0);
  EXPECT_EQ(a.time_of, TimeOf::mean);
  EXPECT_EQ(a.misalign, 0);
  EXPECT_EQ(a.graph_launches, 0);
  EXPECT_EQ(a.algorithm, Algorithm::automatic);
  EXPECT_EQ(a.json + a.trace, "");
}

TEST(CollectiveArguments, EveryOptionArrives) {
  const CollectiveArguments a = allreduce(
      "-b 1K -e 3K -i 1K -g 8 -n 5 -w 2 -c 3 -d half -o prod -a 3 -u 7 -G 4 --algorithm ring --json j "
      "--trace t");
  EXPECT_EQ(a.sizes(), (std::vector<int64_t>{1024, 2048, 3072}));
  EXPECT_EQ(a.ranks, 8);
  EXPECT_EQ(a.iterations, 5);
  EXPECT_EQ(a.warmup, 2);
  EXPECT_EQ(a.checks, 3);
  EXPECT_EQ(a.dtypes, std::vector<DType>{DType::float16});
  EXPECT_EQ(a.reductions, std::vector<Reduction>{Reduction::product});
  EXPECT_EQ(a.time_of, TimeOf::most);
  EXPECT_EQ(a.misalign, 7);
  EXPECT_EQ(a.graph_launches, 4);
  EXPECT_EQ(a.algorithm, Algorithm::ring);
  EXPECT_EQ(a.json, "j");
  EXPECT_EQ(a.trace, "t");
  EXPECT_EQ(allreduce("--devices 0,0,1").devices, (std::vector<int>{0, 0, 1}));
  EXPECT_EQ(allreduce("-d all").dtypes.size(), 7u);
  EXPECT_EQ(allreduce("-o all").reductions.size(), 5u);
  EXPECT_EQ(parse_as<CollectiveArguments>("reduce -r 5").root, 5);
  EXPECT_FALSE(parse_as<CollectiveArguments>("broadcast -r all").root);
}

TEST(CollectiveArguments, LongNamesAsInNcclTests) {
  const CollectiveArguments a = allreduce(
      "--minbytes 8 --maxbytes 32 --stepfactor 2 --ngpus 4 --iters 3 --warmup_iters 0 --check 0 --datatype "
      "int32 --op "
      "max --average 0 --cudagraph 1");
  EXPECT_EQ(a.sizes(), (std::vector<int64_t>{8, 16, 32}));
  EXPECT_EQ(a.ranks, 4);
  EXPECT_EQ(a.time_of, TimeOf::rank0);
  EXPECT_EQ(a.dtypes[0], DType::int32);
  EXPECT_EQ(a.reductions[0], Reduction::max);
}

TEST(CollectiveArguments, EveryVerbHasItsOwnOptions) {
  for (const Verb verb : kVerbs)
    EXPECT_EQ(parse_as<CollectiveArguments>(std::string(command_of(verb))).verb, verb);
  expect_refused("allgather -o sum", {"-o", "rondo allgather --help"});
  expect_refused("allreduce -r 0", {"-r"});
  expect_refused("alltoall --algorithm ring", {"'ring'", "automatic or direct for alltoall"});
  expect_refused("broadcast --algorithm root", {"'root'", "automatic, ring or direct for broadcast"});
}

TEST(CollectiveArguments, Sizes) {
  EXPECT_EQ(parse_size("-b", "8"), 8);
  EXPECT_EQ(parse_size("-b", "64K"), 64 << 10);
  EXPECT_EQ(parse_size("-b", "3m"), 3 << 20);
  EXPECT_EQ(parse_size("-b", "2G"), int64_t{2} << 30);
  EXPECT_EQ(parse_size("-b", "2T"), int64_t{2} << 40);
  EXPECT_EQ(parse_size("-b", "1024t"), int64_t{1} << 50);
  EXPECT_EQ(parse_size("-b", "25MB"), 25'000'000);
  EXPECT_EQ(parse_size("-b", "4KiB"), 4096);
  for (const std::string bad : {"0", "0K", "-1", "-1K", "K", "1.5M", "1X", "many", "99999999999G", "1025T",
                                "2B K", "1 K", "nan", "1KK", ""})
    EXPECT_EQ(missing(error_of([&] { parse_size("-b", bad); }),
                      {"-b", "'" + bad + "'", "must be", "from 1 to 1,024 TiB, such as 8, 64K, 25MB or 1G"}),
              "");
  EXPECT_NE(parse("allreduce --help").text.find("such as 8, 64K, 25MB or 1G"), std::string::npos);
  EXPECT_EQ(allreduce("-b 64M").sizes(), std::vector<int64_t>{64 << 20})
      << "the last size is never below the first";
  EXPECT_EQ(allreduce("-b 3 -e 10 -f 3").sizes(), (std::vector<int64_t>{3, 9}));
  expect_refused("allreduce -b 2K -e 1K", {"-e is 1024", "-b", "2048"});
  expect_refused("allreduce -b 1 -e 1G -i 1", {"-i is 1 byte, ", "10000 sizes", "-f"});
  expect_refused("allreduce -i 1K -f 2", {"--stepbytes", "--stepfactor"});
}

// The size after the last one does not fit in 64 bits: 16 TiB x 2^20 is 2^64.
TEST(CollectiveArguments, SizesAtTheLargestFactorsAndSteps) {
  const int64_t tib = int64_t{1} << 40;
  EXPECT_EQ(allreduce("-b 16T -e 16T -f 1048576").sizes(), std::vector<int64_t>{16 * tib});
  EXPECT_EQ(allreduce("-b 1024T -e 1024T -f 1048576").sizes(), std::vector<int64_t>{1024 * tib});
  EXPECT_EQ(allreduce("-b 1024T -e 1024T -i 1024T").sizes(), std::vector<int64_t>{1024 * tib});
  EXPECT_EQ(allreduce("-b 1 -e 1024T -f 2").sizes().size(), 51u) << "every power of 2 up to 2^50";
  EXPECT_EQ(allreduce("-b 1 -e 1024T -f 1048576").sizes(),
            (std::vector<int64_t>{1, int64_t{1} << 20, int64_t{1} << 40}));
}

TEST(CollectiveArguments, TheNumberOfSizesIsLimited) {
  EXPECT_EQ(allreduce("-b 1 -e 10000 -i 1").sizes().size(), kMostCollectiveSizes);
  expect_refused("allreduce -b 1 -e 10001 -i 1", {"-i is 1 byte, ", "more than 10000 sizes"});
  expect_refused("allreduce -b 8 -i 2",
                 {"-i is 2 bytes", "more than 10000 sizes"});  // up to the default of -e
}

TEST(CollectiveArguments, BadValues) {
  const std::pair<const char*, const char*> cases[] = {{"-g", "0"},
                                                       {"-g", "65"},
                                                       {"-g", "two"},
                                                       {"-n", "0"},
                                                       {"-n", "1e3"},
                                                       {"-w", "-1"},
                                                       {"-c", "-1"},
                                                       {"-a", "4"},
                                                       {"-a", "avg"},
                                                       {"-f", "1"},
                                                       {"-f", "0"},
                                                       {"-u", "-1"},
                                                       {"-u", "4097"},
                                                       {"-G", "-1"},
                                                       {"-d", "fp8"},
                                                       {"-o", "xor"},
                                                       {"--algorithm", "tree"},
                                                       {"-b", "none"},
                                                       {"-e", "1.5"},
                                                       {"-i", "0"},
                                                       {"--devices", "0,x"}};
  for (const auto& [option, bad] : cases)
    expect_refused(
        concat("allreduce ", option, " ", bad),
        {option, concat("'", std::string(bad).substr(std::string(bad).find(',') + 1), "'"), "must be"});
  expect_refused("reduce -r 64", {"-r", "'64'"});
  expect_refused("reduce -r -1", {"-r", "'-1'"});
  expect_refused("allreduce -g 2 --devices 0,1", {"--ngpus", "--devices"});
  expect_refused("allreduce --bogus", {"--bogus", "rondo allreduce --help"});
  expect_refused("allreduce 32M", {"32M"});
  for (const char* option : {"--json", "--trace"}) {
    const std::vector<std::string> words = {"allreduce", option, ""};
    EXPECT_EQ(missing(error_of([&] { parse(words); }), {option, "empty"}), "");
  }
}

TEST(CollectiveArguments, Links) {
  EXPECT_EQ(parse("links").name, "links");
  const auto a = parse_as<LinksArguments>("links --devices 3 --store s.json");
  EXPECT_EQ(a.devices, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(a.store, "s.json");
  EXPECT_FALSE(a.no_store);
  EXPECT_TRUE(parse_as<LinksArguments>("links --no-store").no_store);
  expect_refused("links --no-store --store f", {"--store"});
  expect_refused("links --no-store=0", {"no-store"});
  expect_refused("links --devices 0", {"'0'"});
}

TEST(CollectiveArguments, TrainTakesAnAlgorithm) {
  EXPECT_EQ(parse_as<NetworkArguments>("train lenet").algorithm, Algorithm::automatic);
  for (const Algorithm algorithm : kAlgorithms)
    EXPECT_EQ(parse_as<NetworkArguments>(concat("train lenet --algorithm ", name_of(algorithm))).algorithm,
              algorithm);
  expect_refused("train lenet --algorithm tree",
                 {"--algorithm", "'tree'", "automatic, ring, direct or root"});
  expect_refused("train lenet --algorithm Ring", {"'Ring'"});
}

TEST(CollectiveArguments, Help) {
  for (const Verb verb : kVerbs) {
    const std::string text = parse(concat(command_of(verb), " --help")).text;
    EXPECT_EQ(missing(text, {"--minbytes", "--maxbytes", "--ngpus", "--algorithm", "--json", "--trace"}), "");
    EXPECT_EQ(text.find("--op") != std::string::npos, reduces(verb));
    EXPECT_EQ(text.find("--root") != std::string::npos, has_root(verb));
  }
}

}  // namespace
}  // namespace rondo::program
