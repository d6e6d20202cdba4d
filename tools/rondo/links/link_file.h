// The file that `rondo links` writes, and the other commands read.
#pragma once

#include <rondo/tools/rondo/links/link_table.h>

#include <optional>
#include <string>

namespace rondo::program {

// $XDG_CACHE_HOME/rondo/links.json, or the same below ~/.cache; empty where neither is known.
std::string default_link_file();

std::string link_json(const LinkTable& table);

// Throws a bad_argument Error that says what is wrong with `text`; `name` is the file's.
LinkTable parse_link_json(const std::string& name, const std::string& text);

// What is stored about these devices of this machine.
struct StoredLinks {
  std::optional<LinkTable> table;  // nothing: there is no file, or it can't be used
  std::string note;                // goes on after "links", printable; empty where there is no file
};
StoredLinks stored_links(const std::vector<int>& devices);

}  // namespace rondo::program
