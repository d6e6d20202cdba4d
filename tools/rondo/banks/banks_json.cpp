#include <rondo/tools/rondo/banks/banks.h>

#include <nlohmann/json.hpp>

namespace rondo::program {
namespace {

using Json = nlohmann::ordered_json;

Json access_arguments_json(const AccessArguments& arguments, const simt::WarpAccess& access) {
  return {{"expression", arguments.index->text()},
          {"width", arguments.width},
          {"element", arguments.element_bytes()},
          {"addresses", access.address}};
}

std::string text_of(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string banks_json(const AccessArguments& arguments) {
  const simt::WarpAccess access = access_of(arguments);
  const simt::SharedCost cost = arguments.store ? simt::shared_store(access) : simt::shared_load(access);
  const std::vector<BankRow> rows = bank_rows(access, arguments.store);
  Json document = access_arguments_json(arguments, access), list = Json::array();
  for (const BankRow& row : rows)
    list.push_back({{"first_thread", row.first_lane}, {"last_thread", row.last_lane}, {"banks", row.lanes}});
  document["store"] = arguments.store;
  document["wavefronts"] = cost.wavefronts;
  document["least_wavefronts"] = cost.least;
  document["conflicts"] = cost.conflicts();
  document["conflict_degree"] = conflict_degree(rows);
  document["rows"] = list;
  return text_of(document);
}

std::string sectors_json(const AccessArguments& arguments) {
  const simt::WarpAccess access = access_of(arguments);
  Json document = access_arguments_json(arguments, access), list = Json::array();
  for (const SectorRow& row : sector_rows(access))
    list.push_back({{"address", row.address}, {"cells", row.cells}});
  const int64_t asked = bytes_requested(access),
                moved = int64_t{simt::kSectorBytes} * simt::global_sectors(access);
  document["sectors"] = simt::global_sectors(access);
  document["least_sectors"] = simt::least_global_sectors(access);
  document["bytes_requested"] = asked;
  document["bytes_moved"] = moved;
  document["efficiency"] = static_cast<double>(asked) / static_cast<double>(moved);
  document["cell_bytes"] = cell_bytes(access);
  document["rows"] = list;
  return text_of(document);
}

}  // namespace rondo::program
