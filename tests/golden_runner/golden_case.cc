#include "kusari/tests/golden_runner/golden_case.h"

#include "kusari/framework/core/config.h"

namespace kusari::golden {

const serializers::NpzReader& Folder::npz(const std::string& file) {
  auto& reader = open_[file];
  if (!reader) reader = std::make_unique<serializers::NpzReader>(*this / file);
  return *reader;
}

Array Case::array(const std::string& key) const {
  const serializers::NpzReader& npz = folder_->npz(json_.at("file"));
  return npz.array(json_.at("prefix").get<std::string>() + key).to_device(device_);
}

bool Case::has_array(const std::string& key) const {
  return folder_->npz(json_.at("file")).contains(json_.at("prefix").get<std::string>() + key);
}

std::vector<std::string> Case::names(const char* field) const {
  const auto found = json_.find(field);
  return found == json_.end() ? std::vector<std::string>() : found->get<std::vector<std::string>>();
}

Tolerance Case::tolerance(const std::string& key) const {
  // Two rounded operands are off by 2^-11 of themselves each; what follows a product may make a few times that of it.
  constexpr double kTf32 = 16 * 0x1p-11;
  const double of_largest = config().use_tf32 && dtype() == Dtype::float32 ? kTf32 : 0;
  if (const auto tol = json_.find("tol"); tol != json_.end()) {
    if (const auto own = tol->find(key); own != tol->end()) return {own->at(0), own->at(1), of_largest};
  }
  return {json_.at("rtol"), json_.at("atol"), of_largest};
}

std::vector<std::string> flat_names(const Json& returns) {
  if (returns.is_null()) return {std::string()};
  if (returns.is_string()) return {returns.get<std::string>()};
  std::vector<std::string> names;
  for (const Json& part : returns) {
    for (std::string& name : flat_names(part)) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace kusari::golden
