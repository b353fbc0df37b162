#include "kusari/framework/onnx/parameter_tree.h"

#include <algorithm>
#include <map>

#include "kusari/framework/links/link_walk.h"

namespace kusari::onnx {

ParameterTree::ParameterTree(const ParameterTree& other) : Chain(other), names_{other.names_} {
  for (const auto& [name, child] : other.children_) {
    children_.emplace_back(name, std::make_unique<ParameterTree>(*child));
  }
}

bool ParameterTree::has_child(std::string_view name) const {
  return std::any_of(children_.begin(), children_.end(), [&](const auto& child) { return child.first == name; });
}

ParameterTree& ParameterTree::child(const std::string& name) {
  for (auto& [other, link] : children_) {
    if (other == name) return *link;
  }
  children_.emplace_back(name, std::make_unique<ParameterTree>());
  structure_changed();
  return *children_.back().second;
}

std::string ParameterTree::add(std::string_view name, const Array& numbers, bool is_parameter) {
  ParameterTree* place = this;
  std::string path;
  for (size_t end = name.find_first_of("./"); end != std::string_view::npos; end = name.find_first_of("./")) {
    std::string part(name.substr(0, end));
    name.remove_prefix(end + 1);
    if (part.empty()) continue;
    while (std::find(place->names_.begin(), place->names_.end(), part) != place->names_.end()) part += '_';
    path += "/" + part;
    place = &place->child(part);
  }
  std::string last(name.empty() ? "value" : name);
  while (place->has_child(last) || std::find(place->names_.begin(), place->names_.end(), last) != place->names_.end()) {
    last += '_';
  }
  place->names_.push_back(last);
  if (is_parameter) {
    place->add_param(last, Parameter(numbers));
  } else {
    place->add_persistent(last, numbers);
  }
  return path + "/" + last;
}

void ParameterTree::find(std::vector<Member>& members) {
  std::map<std::string, std::pair<Parameter*, Array*>, std::less<>> places;
  detail::LinkWalk::links(*this, "", [&](const std::string& path, Link& link) {
    detail::LinkWalk::members(link, [&](const detail::LinkMember& member) {
      void* const at = detail::LinkWalk::at(link, member);
      const bool is_parameter = member.kind == detail::MemberKind::parameter;
      places[path + "/" + member.name] = {is_parameter ? static_cast<Parameter*>(at) : nullptr,
                                          is_parameter ? nullptr : static_cast<Array*>(at)};
    });
  });
  for (Member& member : members) {
    const auto found = places.find(member.path);
    if (found == places.end()) continue;
    member.parameter = found->second.first;
    member.array = found->second.second;
  }
}

}  // namespace kusari::onnx
