#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "kusari/framework/core/array.h"
#include "kusari/framework/serializers/npz.h"

namespace kusari::golden {

using Json = nlohmann::ordered_json;

/// A folder of golden data; opens each .npz once.
class Folder {
 public:
  explicit Folder(std::string path) : path_{std::move(path)} {}
  std::string operator/(const std::string& file) const { return path_ + "/" + file; }
  const serializers::NpzReader& npz(const std::string& file);

 private:
  std::string path_;
  std::map<std::string, std::unique_ptr<serializers::NpzReader>> open_;
};

struct Tolerance {
  double rtol, atol;
  double of_largest = 0;  ///< more, as a share of the array's largest magnitude
};

/// One line of the manifest and its arrays.
class Case {
 public:
  Case(Folder& folder, Json line, const Device& device, bool is_replayed = false)
      : folder_{&folder}, json_(std::move(line)), device_{device}, is_replayed_{is_replayed} {}

  const Json& json() const { return json_; }
  std::string id() const { return json_.at("case"); }
  std::string kind() const { return json_.at("kind"); }
  std::string name() const { return json_.at("name"); }
  Dtype dtype() const { return dtype_from_name(json_.at("dtype")); }
  const Device& device() const { return device_; }
  /// Functions are recorded and replayed as static graphs.
  bool is_replayed() const { return is_replayed_; }
  Folder& folder() const { return *folder_; }

  /// A fresh array on the case's device.
  Array array(const std::string& key) const;
  bool has_array(const std::string& key) const;
  std::vector<std::string> names(const char* field) const;
  /// With config.use_tf32 float32 arrays may differ by what products of operands with 10-bit mantissas lose.
  Tolerance tolerance(const std::string& key) const;

 private:
  Folder* folder_;
  Json json_;
  Device device_;
  bool is_replayed_;
};

/// The names of a result, a name or nested lists of them, in order; "" for None.
std::vector<std::string> flat_names(const Json& returns);

}  // namespace kusari::golden
