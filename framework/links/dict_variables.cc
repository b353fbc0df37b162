#include "kusari/framework/links/dict_variables.h"

#include "kusari/framework/core/error.h"

namespace kusari {

DictVariables::DictVariables(std::initializer_list<Entry> entries) : entries_{entries} { check_keys(); }

DictVariables::DictVariables(std::span<const std::string> keys, std::span<const Variable> variables) {
  if (keys.size() != variables.size()) {
    std::string names;
    for (const std::string& key : keys) names += (names.empty() ? "'" : ", '") + key + "'";
    throw ValueError("DictVariables: there are " + std::to_string(variables.size()) + " variables for the " +
                     std::to_string(keys.size()) + " keys" + (names.empty() ? "" : " " + names));
  }
  entries_.reserve(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) entries_.emplace_back(keys[i], variables[i]);
  check_keys();
}

void DictVariables::check_keys() const {
  for (const Entry& entry : entries_) {
    if (find(entry.first) != &entry.second) {
      throw ValueError("DictVariables: the key '" + entry.first + "' comes twice");
    }
  }
}

const Variable* DictVariables::find(std::string_view key) const noexcept {
  for (const Entry& entry : entries_) {
    if (entry.first == key) return &entry.second;
  }
  return nullptr;
}

void DictVariables::throw_missing(std::string_view key) const {
  std::string message = "DictVariables: there is no key '" + std::string(key) + "', only";
  for (const Entry& entry : entries_) message += " '" + entry.first + "'";
  throw KeyError(message);
}

const Variable& DictVariables::operator[](std::string_view key) const {
  const Variable* const found = find(key);
  if (found == nullptr) throw_missing(key);
  return *found;
}

DictVariables DictVariables::without(std::string_view key) const {
  if (!contains(key)) throw_missing(key);
  DictVariables others;
  for (const Entry& entry : entries_) {
    if (entry.first != key) others.entries_.push_back(entry);
  }
  return others;
}

Variables DictVariables::values() const {
  Variables result;
  for (const Entry& entry : entries_) result.push_back(entry.second);
  return result;
}

}  // namespace kusari
