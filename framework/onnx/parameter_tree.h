#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::onnx {

/// Links that hold parameters and arrays under names that are only known at run time: "layer1.0.conv.weight" is the
/// parameter weight of /layer1/0/conv.
class KUSARI_API ParameterTree : public Chain {
 public:
  ParameterTree() = default;
  ParameterTree(const ParameterTree& other);
  ParameterTree(ParameterTree&&) noexcept = default;
  ParameterTree& operator=(const ParameterTree&) = delete;
  ParameterTree& operator=(ParameterTree&&) noexcept = default;

 protected:
  /// A parameter or an array of a model's file: what it is called here, and where it is.
  struct Member {
    std::string path;  ///< "/layer1/0/conv/weight"
    Parameter* parameter = nullptr;
    Array* array = nullptr;
  };
  /// Adds the numbers under a name, whose parts are told apart by '.' and '/'; under another one if it is taken.
  std::string add(std::string_view name, const Array& numbers, bool is_parameter);
  /// Where the members with these paths are now.
  void find(std::vector<Member>& members);

  size_t list_size() const noexcept override { return children_.size(); }
  Link& list_item(size_t index) override { return *children_[index].second; }
  std::string list_name(size_t index) const override { return children_[index].first; }

 private:
  ParameterTree& child(const std::string& name);
  bool has_child(std::string_view name) const;

  std::vector<std::pair<std::string, std::unique_ptr<ParameterTree>>> children_;
  std::vector<std::string> names_;  // of own members
};

}  // namespace kusari::onnx
