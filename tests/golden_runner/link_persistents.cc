#include "kusari/tests/golden_runner/link_persistents.h"

#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kusari/framework/core/serializer.h"
#include "kusari/framework/links/parameter.h"
#include "kusari/tests/golden_runner/compare.h"

namespace kusari::golden {
namespace {

std::string join(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "/" + name;
}

/// Visits what a link saves, less its parameters: reads it into `values`, or overwrites it from there.
class PersistentValues final : public Serializer {
 public:
  using Values = std::map<std::string, Array>;

  PersistentValues(bool is_writer, const std::set<std::string>& params, Values& values, std::string prefix = {})
      : is_writer_{is_writer}, params_{params}, values_{values}, prefix_{std::move(prefix)} {}

  bool is_writer() const override { return is_writer_; }
  bool contains(const std::string& name) const override { return is_writer_ || values_.contains(join(prefix_, name)); }
  std::unique_ptr<Serializer> child(const std::string& name) override {
    return std::make_unique<PersistentValues>(is_writer_, params_, values_, join(prefix_, name));
  }

  void array(const std::string& name, Array& value) override {
    const std::string path = join(prefix_, name);
    if (params_.contains(path)) return;
    if (is_writer_) {
      values_[path] = value;
    } else if (value.is_defined()) {
      compare("persist/" + path, values_.at(path), full_like(value, 0), {0, INFINITY});  // shape and dtype
      value.copy_from(values_.at(path));
    } else {
      value = values_.at(path);
    }
  }
  void number(const std::string& name, int64_t& value) override { scalar(name, value); }
  void number(const std::string& name, double& value) override { scalar(name, value); }
  void boolean(const std::string& name, bool&) override { refuse(name); }
  void text(const std::string& name, std::string&) override { refuse(name); }

 private:
  template <class T>
  void scalar(const std::string& name, T& value) {
    const std::string path = join(prefix_, name);
    if (is_writer_) {
      values_[path] = kusari::array<T>({value}, Shape{});
    } else {
      value = values_.at(path).to_vector<T>().at(0);
    }
  }
  [[noreturn]] void refuse(const std::string& name) {
    throw Mismatch("the link has an entry " + join(prefix_, name) + " that is neither an array nor a number");
  }

  bool is_writer_;
  const std::set<std::string>& params_;
  Values& values_;
  std::string prefix_;
};

std::set<std::string> param_paths(Link& link) {
  std::set<std::string> paths;
  for (const auto& [path, param] : link.namedparams()) paths.insert(path.substr(1));
  return paths;
}

PersistentValues::Values persistents(Link& link) {
  PersistentValues::Values values;
  const std::set<std::string> params = param_paths(link);
  PersistentValues reader(true, params, values);
  link.serialize(reader);
  return values;
}

}  // namespace

void set_persistents(const Case& c, Link& link) {
  const std::vector<std::string> names = c.names("persistents");
  const std::set<std::string> expected(names.begin(), names.end());
  std::set<std::string> got;
  for (const auto& [path, value] : persistents(link)) got.insert(path);
  if (got != expected) {
    throw Mismatch("the link has persistent values " + Json(got).dump() + ", expected " + Json(expected).dump());
  }
  PersistentValues::Values values;
  for (const std::string& path : names) values[path] = c.array("persist/" + path);
  const std::set<std::string> params = param_paths(link);
  PersistentValues writer(false, params, values);
  link.serialize(writer);
}

void compare_persistents(const Case& c, Link& link) {
  const PersistentValues::Values values = persistents(link);
  for (const std::string& path : c.names("persistents")) {
    const std::string key = "persist_after/" + path;
    compare(key, values.at(path), c.array(key), c.tolerance(key));
  }
}

}  // namespace kusari::golden
