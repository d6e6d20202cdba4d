// The measurements of `rondo links`, and the file in which it stores them.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rondo/kernels/runtime/platform.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/support/marked_locale.h>
#include <rondo/tests/support/no_capture_loads.h>
#include <rondo/tests/support/skip_without_devices.h>
#include <rondo/tools/rondo/links/device_name.h>
#include <rondo/tools/rondo/links/link_file.h>
#include <rondo/tools/rondo/links/links.h>
#include <rondo/tools/rondo/links/measure_links.h>
#include <rondo/tools/rondo/links/rates.h>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <numeric>
#include <sstream>

#ifdef __SIMT__
#include <simt/faults.h>
#endif

namespace rondo::program {
namespace {

using test::error_of;
using test::missing;

// Devices 0 to n-1 of this machine. All links are equal.
LinkTable even_table(int devices) {
  LinkTable table{.platform = platform(), .date = "2026-01-02T03:04:05Z", .host_seconds_per_call = 1e-6};
  for (int device = 0; device < devices; ++device)
    table.devices.push_back({device, device_name(0), 1e12, 3e-6});
  for (int from = 0; from < devices; ++from) {
    for (int to = 0; to < devices; ++to)
      table.links.push_back({50e9, 5e-6, 40e9, from == to ? PeerAccess::same_device : PeerAccess::direct});
  }
  return table;
}
Link& link_of(LinkTable& table, size_t from, size_t to) {
  return table.links[from * table.devices.size() + to];
}

// Sets $XDG_CACHE_HOME to a temporary directory.
class Links : public ::testing::Test {
 protected:
  Links() { setenv("XDG_CACHE_HOME", cache_.path().c_str(), 1); }
  ~Links() override { unsetenv("XDG_CACHE_HOME"); }

  void store(const std::string& text) {
    std::filesystem::create_directories(cache_.path() / "rondo");
    test::write_file(cache_ / "rondo/links.json", test::bytes_of(text));
  }

  test::TemporaryDirectory cache_;
};

// The parser reads numbers by strtod(), which follows the locale.
TEST_F(Links, ReadBackAsWrittenInEveryLocale) {
  LinkTable table = even_table(2);
  link_of(table, 0, 1).latency = 7.5e-6;
  const std::string text = link_json(table);
  const test::MarkedLocale locale;
  EXPECT_EQ(link_json(table), text);
  const LinkTable back = parse_link_json("f", text);
  EXPECT_EQ(back.links[1].latency, 7.5e-6);
  EXPECT_EQ(back.host_seconds_per_call, 1e-6);
  EXPECT_EQ(link_json(back), text);
}

TEST_F(Links, ReadBackAsWritten) {
  LinkTable table = even_table(3);
  link_of(table, 0, 2) = {1.25e9, 7.5e-6, 1e9, PeerAccess::broken};
  link_of(table, 2, 1).access = PeerAccess::unsupported;
  const LinkTable back = parse_link_json("f", link_json(table));
  EXPECT_EQ(back.platform, table.platform);
  EXPECT_EQ(back.date, table.date);
  EXPECT_EQ(back.host_seconds_per_call, table.host_seconds_per_call);
  ASSERT_EQ(back.devices.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(back.devices[i].device, table.devices[i].device);
    EXPECT_EQ(back.devices[i].name, table.devices[i].name);
    EXPECT_EQ(back.devices[i].memory_bandwidth, table.devices[i].memory_bandwidth);
    EXPECT_EQ(back.devices[i].kernel_latency, table.devices[i].kernel_latency);
  }
  ASSERT_EQ(back.links.size(), 9u);
  for (size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(back.links[i].bandwidth, table.links[i].bandwidth);
    EXPECT_EQ(back.links[i].latency, table.links[i].latency);
    EXPECT_EQ(back.links[i].kernel_bandwidth, table.links[i].kernel_bandwidth);
    EXPECT_EQ(back.links[i].access, table.links[i].access);
  }
}

TEST_F(Links, DamagedFilesAreNamed) {
  const std::string good = link_json(even_table(2));
  const auto with = [&](const std::string& what, const std::string& instead) {
    std::string text = good;
    const size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return text.replace(at, what.size(), instead);
  };
  const std::pair<std::string, std::string> bad[] = {
      {"", "damaged"},
      {"{", "damaged"},
      {"[]", "not written by rondo links"},
      {"{\"traceEvents\": []}", "not written by rondo links"},
      {good.substr(0, good.size() / 2), "damaged"},
      {with("\"rondo_links\": 1", "\"rondo_links\": 2"), "has version 2, must be 1"},
      {with("\"host_seconds_per_call\": 1e-06", "\"host_seconds_per_call\": -1"),
       "host_seconds_per_call is -1"},
      {with("\"bandwidth\": 50000000000.0", "\"bandwidth\": 0"),
       "bandwidth is 0, must be finite and above 0"},
      {with("\"bandwidth\": 50000000000.0", "\"bandwidth\": null"), "damaged"},
      {with("\"to\": 1", "\"to\": 7"), "out of order"},
      {with("\"access\": \"direct\"", "\"access\": \"telepathy\""), "'telepathy', must be"}};
  for (const auto& [text, why] : bad)
    EXPECT_EQ(missing(error_of([&] { parse_link_json("the file", text); }), {"the file", why}), "") << text;
}

// Every value, just outside its range and at its end.
TEST_F(Links, EveryValueIsChecked) {
  const auto check_with = [](const std::function<void(LinkTable&)>& change) {
    LinkTable table = even_table(2);
    change(table);
    return check(table);
  };
  EXPECT_TRUE(check_with([](LinkTable&) {}).ok());
  struct Value {
    const char* name;
    bool zero_is_valid;
    std::function<double&(LinkTable&)> of;
  };
  const Value values[] = {
      {"host_seconds_per_call", true, [](LinkTable& t) -> double& { return t.host_seconds_per_call; }},
      {"memory_bandwidth", false, [](LinkTable& t) -> double& { return t.devices[1].memory_bandwidth; }},
      {"kernel_latency", true, [](LinkTable& t) -> double& { return t.devices[1].kernel_latency; }},
      {"bandwidth", false, [](LinkTable& t) -> double& { return t.links[3].bandwidth; }},
      {"kernel_bandwidth", false, [](LinkTable& t) -> double& { return t.links[3].kernel_bandwidth; }},
      {"latency", true, [](LinkTable& t) -> double& { return t.links[3].latency; }},
  };
  for (const Value& value : values)
    for (const double bad : {-1e-9, 0.0, double{INFINITY}, double{NAN}}) {
      const Status status = check_with([&](LinkTable& table) { value.of(table) = bad; });
      if (bad == 0 && value.zero_is_valid)
        EXPECT_TRUE(status.ok()) << status.message();
      else
        EXPECT_EQ(status.message(), concat(value.name, " is ", bad, ", must be finite and ",
                                           value.zero_is_valid ? "not negative" : "above 0"));
    }
  // Devices ascend.
  const auto devices = [&](int first, int second) {
    return check_with([&](LinkTable& t) { t.devices[0].device = first, t.devices[1].device = second; });
  };
  EXPECT_TRUE(devices(0, 1).ok());
  EXPECT_TRUE(devices(2, 7).ok());
  EXPECT_EQ(devices(-1, 1).message(), "device -1 must come after -1");
  EXPECT_EQ(devices(1, 1).message(), "device 1 must come after 1");
  EXPECT_EQ(devices(1, 0).message(), "device 0 must come after 1");
  EXPECT_EQ(check_with([](LinkTable& t) { t.devices.clear(); }).message(),
            "there are no devices, must be at least one");
  for (const size_t links : {3, 5})
    EXPECT_EQ(check_with([&](LinkTable& t) { t.links.resize(links); }).message(),
              concat("there are ", links, " links between 2 devices, must be 4"));
}

TEST_F(Links, StoredLinksAreUsedIfTheyMatch) {
  EXPECT_FALSE(stored_links({0}).table);
  EXPECT_EQ(stored_links({0}).note, "");
  store(link_json(even_table(1)));
  const StoredLinks fitting = stored_links({0, 0});
  ASSERT_TRUE(fitting.table);
  EXPECT_EQ(fitting.table->links[0].bandwidth, 50e9);
  EXPECT_EQ(missing(fitting.note, {cache_ / "rondo/links.json", "measured 2026-01-02T03:04:05Z", "used"}),
            "");

  const auto refused = [&](const std::string& text, const std::vector<int>& devices,
                           const std::vector<std::string>& why) {
    store(text);
    const StoredLinks stored = stored_links(devices);
    EXPECT_FALSE(stored.table);
    EXPECT_EQ(missing(stored.note, why), "");
    EXPECT_EQ(missing(stored.note, {"not used", "links.json"}), "");
    EXPECT_EQ(stored.note.find('\n'), std::string::npos);
  };
  refused("{", {0}, {"damaged"});
  refused(link_json(even_table(1)), {0, 1}, {device_label(1) + " was not measured"});
  LinkTable foreign = even_table(1);
  foreign.devices[0].name = "Difference Engine";
  refused(link_json(foreign), {0}, {"Difference Engine", device_name(0)});
  foreign.platform = "abacus";
  refused(link_json(foreign), {0}, {"abacus", platform()});
}

// Control characters in a file's own notes are escaped before they are printed.
TEST_F(Links, NotesArePrintable) {
  LinkTable table = even_table(1);
  table.date = "2026\x1b[2J\n";
  store(link_json(table));
  EXPECT_EQ(missing(stored_links({0}).note, {"measured 2026\\x1b[2J\\n, are used"}), "");
  table.platform = "\x1b[31m";
  store(link_json(table));
  EXPECT_EQ(missing(stored_links({0}).note, {"\\x1b[31m", "not used"}), "");
}

TEST_F(Links, APipeDoesNotBlock) {
  std::filesystem::create_directories(cache_.path() / "rondo");
  const std::string path = cache_ / "rondo/links.json";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  alarm(30);
  EXPECT_EQ(stored_links({0}).note,
            "are not used: '" + path +
                "' is a pipe, must be a regular file; remove it and run rondo links to "
                "measure again");
  alarm(0);
}

TEST_F(Links, PathOfTheFile) {
  EXPECT_EQ(default_link_file(), cache_ / "rondo/links.json");
  setenv("XDG_CACHE_HOME", "relative", 1);  // the XDG specification requires that it is ignored
  EXPECT_EQ(default_link_file(), std::string(getenv("HOME")) + "/.cache/rondo/links.json");
}

TEST_F(Links, ConstantsAreOfTheSlowestLink) {
  LinkTable table = even_table(4);
  table.devices[2].memory_bandwidth = 7e11;
  table.devices[3].kernel_latency = 9e-6;
  link_of(table, 1, 2).bandwidth = 11e9;
  link_of(table, 2, 3).latency = 8e-6;
  link_of(table, 3, 1).kernel_bandwidth = 2e9;
  const LinkConstants along = constants_of(table, {0, 1, 2, 3}, {0, 1, 2, 3});
  EXPECT_EQ(along.wire_bandwidth, 11e9);
  EXPECT_EQ(along.copy_latency, 8e-6);
  EXPECT_EQ(along.peer_bandwidth, 2e9);
  EXPECT_EQ(along.memory_bandwidth, 7e11);
  EXPECT_EQ(along.kernel_latency, 9e-6);
  EXPECT_EQ(along.host_seconds_per_call, 1e-6);
  EXPECT_EQ(constants_of(table, {0, 1, 2, 3}, {0, 2, 1, 3}).wire_bandwidth, 50e9) << "not over the slow link";
  EXPECT_TRUE(all_reach_all(table, {0, 1, 2, 3}));
  link_of(table, 3, 0).access = PeerAccess::broken;
  EXPECT_FALSE(all_reach_all(table, {0, 1, 2, 3}));
  EXPECT_TRUE(all_reach_all(table, {0, 1, 2}));
}

// Each link counts in its own direction only: along the ring for copies, between all ranks for kernels.
TEST_F(Links, BothDirectionsOfALinkCount) {
  const std::vector<int> devices = {0, 1, 2, 3}, order = {0, 2, 1, 3};
  for (size_t from = 0; from < 4; ++from)
    for (size_t to = 0; to < 4; ++to) {
      SCOPED_TRACE(concat("from ", from, " to ", to));
      const auto position = std::ranges::find(order, static_cast<int>(from)) - order.begin();
      const bool along = order[static_cast<size_t>(position + 1) % 4] == static_cast<int>(to);
      LinkTable table = even_table(4);
      link_of(table, from, to) = {11e9, 8e-6, 2e9, PeerAccess::broken};
      const LinkConstants constants = constants_of(table, devices, order);
      EXPECT_EQ(constants.wire_bandwidth, along ? 11e9 : 50e9);
      EXPECT_EQ(constants.copy_latency, along ? 8e-6 : 5e-6);
      EXPECT_EQ(constants.peer_bandwidth, 2e9);
      EXPECT_FALSE(all_reach_all(table, devices));
    }
}

// Of a link that is slow in one direction the ring uses the other, or none.
TEST_F(Links, ARingAvoidsOneDirection) {
  for (size_t from = 0; from < 3; ++from)
    for (size_t to = 0; to < 3; ++to) {
      if (from == to) continue;
      LinkTable table = even_table(3);
      table.platform = "cuda";
      link_of(table, from, to).bandwidth = 5e9;
      const std::vector<int> order = best_ring_order(table, {0, 1, 2});
      EXPECT_EQ(constants_of(table, {0, 1, 2}, order).wire_bandwidth, 50e9) << from << " to " << to;
    }
}

TEST(LinkRates, AreBytesInASecond) {
  EXPECT_EQ(copy_bandwidth(3'000'000'000, 0.5), 6e9);
  EXPECT_EQ(memory_bandwidth(3'000'000'000, 0.5, 2), 12e9) << "read and written, by the kernel";
  EXPECT_EQ(memory_bandwidth(3'000'000'000, 2, 0.25), 24e9) << "by the copy engine";
}

TEST_F(Links, ARingAvoidsTheSlowLink) {
  LinkTable table = even_table(4);
  table.platform = "cuda";
  for (const auto& [from, to] : {std::pair{0, 1}, {1, 0}, {2, 3}, {3, 2}})
    link_of(table, from, to).bandwidth = 5e9;
  const std::vector<int> order = best_ring_order(table, {0, 1, 2, 3});
  EXPECT_EQ(constants_of(table, {0, 1, 2, 3}, order).wire_bandwidth, 50e9);
  table.platform = "cpu";
  EXPECT_EQ(best_ring_order(table, {0, 1, 2, 3}), (std::vector<int>{0, 1, 2, 3})) << "one memory";
}

TEST_F(Links, NoiseDoesNotChangeTheRing) {
  LinkTable table = even_table(4);
  table.platform = "cuda";
  link_of(table, 1, 2).bandwidth = 49e9;  // the other links have 50e9
  EXPECT_EQ(best_ring_order(table, {0, 1, 2, 3}), (std::vector<int>{0, 1, 2, 3}));
}

TEST_F(Links, MeasuredAndShown) {
  const int count = std::min(device_count(), 3);
  std::vector<int> devices(static_cast<size_t>(count));
  std::iota(devices.begin(), devices.end(), 0);
  devices.push_back(0);  // a device that occurs twice counts once
  const LinkTable table =
      measure_links(devices, {.copy_bytes = 1 << 16, .memory_bytes = 1 << 17, .repeats = 1});
  EXPECT_TRUE(check(table).ok()) << check(table).message();
  ASSERT_EQ(table.devices.size(), static_cast<size_t>(count));
  EXPECT_EQ(table.between(0, 0).access, PeerAccess::same_device);
  EXPECT_EQ(mismatch(table, devices), "");
  for (const Link& link : table.links) EXPECT_GT(link.latency, 0);
  for (const MeasuredDevice& device : table.devices) EXPECT_GT(device.kernel_latency, 0);
  EXPECT_GT(table.host_seconds_per_call, 0);
  EXPECT_EQ(missing(link_text(table), {"memory GB/s", "copy bandwidth", "copy latency", "peer access",
                                       "ring order", "us a call", device_label(0), "self"}),
            "");
}

TEST_F(Links, OnlyLoadedKernelsAreRecorded) {
  const test::NoCaptureLoads old_driver;
  EXPECT_GT(measure_constants({0}, {0}).kernel_latency, 0);
}

TEST_F(Links, TheCommandStoresWhatItShows) {
  std::ostringstream out;
  show_links({.devices = std::vector<int>{0}, .store = cache_ / "mine.json"}, out);
  EXPECT_EQ(missing(out.str(), {"wrote " + (cache_ / "mine.json")}), "");
  const LinkTable table = parse_link_json("mine", test::read_text(cache_ / "mine.json"));
  EXPECT_EQ(table.devices.size(), 1u);
  EXPECT_EQ(mismatch(table, {0}), "");
  EXPECT_EQ(cache_.files(), 1u) << "and nowhere else";
  std::ostringstream again;
  show_links({.devices = std::vector<int>{0}, .no_store = true}, again);
  EXPECT_EQ(again.str().find("wrote"), std::string::npos);
  EXPECT_EQ(cache_.files(), 1u);
}

#ifdef __SIMT__
TEST_F(Links, BrokenAndMissingPeerAccessIsReported) {
  SKIP_WITHOUT_DEVICES(3);
  forget_trials();
  ASSERT_EQ(simt::set_peer_copies(0, 1, simt::PeerCopies::corrupted), cudaSuccess);
  ASSERT_EQ(simt::set_peer_access(1, 2, simt::PeerAccess::absent), cudaSuccess);
  const LinkTable table =
      measure_links({0, 1, 2}, {.copy_bytes = 1 << 16, .memory_bytes = 1 << 17, .repeats = 1});
  ASSERT_EQ(simt::set_peer_copies(0, 1, simt::PeerCopies::work), cudaSuccess);
  ASSERT_EQ(simt::set_peer_access(1, 2, simt::PeerAccess::works), cudaSuccess);
  forget_trials();
  for (const auto& [from, to] : {std::pair{0, 1}, {1, 0}})
    EXPECT_EQ(table.between(from, to).access, PeerAccess::broken);
  for (const auto& [from, to] : {std::pair{1, 2}, {2, 1}})
    EXPECT_EQ(table.between(from, to).access, PeerAccess::unsupported);
  EXPECT_EQ(table.between(0, 2).access, PeerAccess::direct);
  // Without peer access a kernel's data are copied first.
  for (const Link& link : table.links)
    if (link.access == PeerAccess::broken || link.access == PeerAccess::unsupported) {
      EXPECT_EQ(link.kernel_bandwidth, link.bandwidth);
    }
  EXPECT_EQ(missing(link_text(table),
                    {"cpu:0 -> cpu:1 is broken", "cpu:1 -> cpu:0 is broken", "data of a trial did not arrive",
                     "cpu:2 -> cpu:1 has no peer access", "staged through the host"}),
            "");
}

TEST_F(Links, ALatencyWithTheHostsCallsIsReported) {
  SKIP_WITHOUT_DEVICES(2);
  const auto measure = [](simt::StagedGraphCopies copies) {
    simt::set_staged_graph_copies(copies);
    return measure_links({0, 1}, {.copy_bytes = 1 << 16, .memory_bytes = 1 << 17, .repeats = 1});
  };
  ASSERT_EQ(simt::set_peer_access(0, 1, simt::PeerAccess::absent), cudaSuccess);
  const LinkTable replayed = measure(simt::StagedGraphCopies::work);
  const LinkTable refused = measure(simt::StagedGraphCopies::not_captured);
  simt::set_staged_graph_copies(simt::StagedGraphCopies::work);
  ASSERT_EQ(simt::set_peer_access(0, 1, simt::PeerAccess::works), cudaSuccess);
  const char* line =
      "some copy latencies include the host's calls: CUDA rejected the graph, recording the step: ";
  EXPECT_EQ(link_text(replayed).find("rejected"), std::string::npos);
  EXPECT_EQ(missing(link_text(refused), {line, "cudaErrorStreamCaptureUnsupported"}), "");
  EXPECT_EQ(parse_link_json("links.json", link_json(refused)).graph_refusal, refused.graph_refusal);
  store(link_json(refused));
  EXPECT_EQ(missing(stored_links({0, 1}).note, {"are used; some copy latencies include the host's calls"}),
            "");
}
#endif

}  // namespace
}  // namespace rondo::program
