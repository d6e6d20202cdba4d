#include <rondo/kernels/runtime/platform.h>
#include <rondo/nn/io/c_locale.h>
#include <rondo/nn/io/folder.h>
#include <rondo/nn/io/printable.h>
#include <rondo/nn/io/regular_file.h>
#include <rondo/tools/rondo/links/link_file.h>

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>

namespace rondo::program {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr PeerAccess kAccesses[] = {PeerAccess::same_device, PeerAccess::direct, PeerAccess::unsupported,
                                    PeerAccess::broken};

std::optional<PeerAccess> parse_access(const std::string& name) {
  for (const PeerAccess access : kAccesses) {
    if (name == name_of(access)) return access;
  }
  return std::nullopt;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

std::string default_link_file() {
  const std::string cache = environment("XDG_CACHE_HOME"), home = environment("HOME");
  if (cache.starts_with("/")) return cache + "/rondo/links.json";  // the XDG rules ignore a relative path
  return home.empty() ? "" : home + "/.cache/rondo/links.json";
}

std::string link_json(const LinkTable& table) {
  Json document = {{"rondo_links", kVersion},  {"platform", table.platform},
                   {"date", table.date},       {"host_seconds_per_call", table.host_seconds_per_call},
                   {"devices", Json::array()}, {"links", Json::array()}};
  if (!table.graph_refusal.empty()) document["graph_refusal"] = table.graph_refusal;
  for (const MeasuredDevice& device : table.devices) {
    document["devices"].push_back({{"device", device.device},
                                   {"name", device.name},
                                   {"memory_bandwidth", device.memory_bandwidth},
                                   {"kernel_latency", device.kernel_latency}});
  }
  for (const MeasuredDevice& from : table.devices) {
    for (const MeasuredDevice& to : table.devices) {
      const Link& link = table.between(from.device, to.device);
      document["links"].push_back({{"from", from.device},
                                   {"to", to.device},
                                   {"access", name_of(link.access)},
                                   {"bandwidth", link.bandwidth},
                                   {"latency", link.latency},
                                   {"kernel_bandwidth", link.kernel_bandwidth}});
    }
  }
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

LinkTable parse_link_json(const std::string& name, const std::string& text) {
  const auto fail = [&](const auto&... why) { throw Error(bad_argument("'", name, "' ", why...)); };
  LinkTable table;
  try {
    const CLocale of_the_parser;
    const Json document = Json::parse(text);
    if (!document.is_object() || !document.contains("rondo_links")) fail("was not written by rondo links");
    if (document.at("rondo_links") != kVersion)
      fail("has version ", document.at("rondo_links").dump(), ", must be ", kVersion);
    document.at("platform").get_to(table.platform);
    document.at("date").get_to(table.date);
    document.at("host_seconds_per_call").get_to(table.host_seconds_per_call);
    if (document.contains("graph_refusal")) document.at("graph_refusal").get_to(table.graph_refusal);
    for (const Json& entry : document.at("devices"))
      table.devices.push_back(
          {entry.at("device"), entry.at("name"), entry.at("memory_bandwidth"), entry.at("kernel_latency")});
    for (const Json& entry : document.at("links")) {
      const size_t index = table.links.size(), count = table.devices.size();
      if (index >= count * count || entry.at("from") != table.devices[index / count].device ||
          entry.at("to") != table.devices[index % count].device)
        fail("has the link from ", entry.at("from").dump(), " to ", entry.at("to").dump(), " out of order");
      const std::string word = entry.at("access");
      const std::optional<PeerAccess> access = parse_access(word);
      if (!access) fail("has the access '", word, "', must be same device, direct, unsupported or broken");
      table.links.push_back(
          {entry.at("bandwidth"), entry.at("latency"), entry.at("kernel_bandwidth"), *access});
    }
  } catch (const Json::exception&) {  // its text is long, and does not help the user
    fail("is damaged: it is not the JSON that rondo links writes");
  }
  const Status status = check(table);
  if (!status.ok()) fail("is damaged: ", status.message());
  return table;
}

StoredLinks stored_links(const std::vector<int>& devices) {
  const std::string path = default_link_file();
  if (path.empty() || !is_name(path)) return {};
  std::string text;
  try {
    text = RegularFile(path).contents<std::string>(kMostTextBytes);
  } catch (const Error& error) {
    return {{},
            printable(
                concat("are not used: ", error.what(), "; remove it and run rondo links to measure again"))};
  }
  try {
    LinkTable table = parse_link_json(path, text);
    const std::string why = mismatch(table, devices);
    if (!why.empty())
      return {{},
              printable(concat("in ", path, " are not used: ", why, "; run rondo links to measure again"))};
    const std::string note = printable(
        concat("in ", path, ", measured ", table.date, ", are used",
               table.graph_refusal.empty() ? "" : "; some copy latencies include the host's calls"));
    return {std::move(table), note};
  } catch (const Error& error) {
    return {{}, printable(concat("are not used: ", error.what(), "; run rondo links to measure again"))};
  }
}

}  // namespace rondo::program
