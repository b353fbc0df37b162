#include "kusari/framework/serializers/dictionary.h"

#include <algorithm>
#include <exception>
#include <map>
#include <set>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/serializers/entries_read.h"
#include "kusari/framework/serializers/entry_checksums.h"

namespace kusari::serializers {
namespace {

/// "a/b" from "/a/b/": the form that joins.
std::string trim_slashes(const std::string& path) {
  const size_t begin = path.find_first_not_of('/');
  if (begin == path.npos) return "";
  return path.substr(begin, path.find_last_not_of('/') + 1 - begin);
}

std::string join(const std::string& prefix, const std::string& name) { return prefix + trim_slashes(name); }

enum class Kind { boolean, integer, floating };
Kind kind_of(Dtype dtype) {
  if (dtype == Dtype::bool_) return Kind::boolean;
  return is_floating(dtype) ? Kind::floating : Kind::integer;
}

/// Gives an object what it was when it wrote the entries, whatever has become of it.
class Restorer final : public Serializer {
 public:
  explicit Restorer(const Dictionary& entries) : entries_{std::make_shared<std::map<std::string, Entry>>()} {
    for (const auto& [key, entry] : entries) entries_->emplace(key, entry);
  }

  bool is_writer() const override { return false; }
  bool restores() const override { return true; }
  std::unique_ptr<Serializer> child(const std::string& name) override {
    return std::unique_ptr<Serializer>(new Restorer(entries_, join(prefix_, name) + "/"));
  }
  bool contains(const std::string& name) const override { return find(name) != nullptr; }
  void array(const std::string& name, Array& value) override {
    const Entry* const entry = find(name);
    const Array was = entry != nullptr ? entry->array : Array();
    if (was.is_defined() && value.is_defined() && was.shape() == value.shape() && was.dtype() == value.dtype()) {
      value.copy_from(was);
    } else {
      value = was;
    }
  }
  void number(const std::string& name, int64_t& value) override { scalar(name, value); }
  void number(const std::string& name, double& value) override { scalar(name, value); }
  void boolean(const std::string& name, bool& value) override { scalar(name, value); }
  void text(const std::string& name, std::string& value) override {
    if (const Entry* const entry = find(name)) value = entry->text;
  }

 private:
  using Entries = std::shared_ptr<std::map<std::string, Entry>>;
  Restorer(Entries entries, std::string prefix) : entries_{std::move(entries)}, prefix_{std::move(prefix)} {}

  const Entry* find(const std::string& name) const {
    const auto found = entries_->find(join(prefix_, name));
    return found == entries_->end() ? nullptr : &found->second;
  }
  template <class T>
  void scalar(const std::string& name, T& value) const {
    if (const Entry* const entry = find(name)) value = entry->array.item<T>();
  }

  Entries entries_;
  std::string prefix_;
};

}  // namespace

EntrySource::~EntrySource() = default;

Dictionary copied(Dictionary entries) {
  for (auto& [key, entry] : entries) {
    if (!entry.array.is_defined()) continue;
    entry.array = entry.array.device().is_cpu() ? entry.array.copy() : entry.array.to_device(Device());
  }
  return entries;
}

DictionarySerializer::DictionarySerializer() : dictionary_{std::make_shared<Dictionary>()} {}
DictionarySerializer::DictionarySerializer(bool restores)
    : dictionary_{std::make_shared<Dictionary>()}, restores_{restores} {}
DictionarySerializer::DictionarySerializer(const DictionarySerializer& parent, std::string prefix)
    : dictionary_{parent.dictionary_}, prefix_{std::move(prefix)}, restores_{parent.restores_} {}

std::unique_ptr<Serializer> DictionarySerializer::child(const std::string& name) {
  return std::unique_ptr<Serializer>(new DictionarySerializer(*this, join(prefix_, name) + "/"));
}

void DictionarySerializer::add(const std::string& name, Entry value) {
  dictionary_->emplace_back(join(prefix_, name), std::move(value));
}
void DictionarySerializer::array(const std::string& name, Array& value) { add(name, {value, {}, false}); }
void DictionarySerializer::number(const std::string& name, int64_t& value) {
  add(name, {kusari::array<int64_t>({value}, Shape{}), {}, false});
}
void DictionarySerializer::number(const std::string& name, double& value) {
  add(name, {kusari::array<double>({value}, Shape{}), {}, false});
}
void DictionarySerializer::boolean(const std::string& name, bool& value) {
  add(name, {kusari::array<bool>({value}, Shape{}), {}, false});
}
void DictionarySerializer::text(const std::string& name, std::string& value) { add(name, {Array(), value, true}); }

struct EntryDeserializer::State {
  const char* call;
  std::shared_ptr<const EntrySource> source;
  LoadOptions options;
  LoadReport report = {};
  std::set<std::string> asked = {};  // with dots
};

EntryDeserializer::EntryDeserializer(const char* call, std::shared_ptr<const EntrySource> source, LoadOptions options)
    : state_{std::make_shared<State>(State{call, std::move(source), std::move(options)})} {
  prefix_ = trim_slashes(state_->options.path);
  if (!prefix_.empty()) prefix_ += '/';
}
EntryDeserializer::EntryDeserializer(const EntryDeserializer& parent, std::string prefix)
    : state_{parent.state_}, prefix_{std::move(prefix)} {}

std::unique_ptr<Serializer> EntryDeserializer::child(const std::string& name) {
  return std::unique_ptr<Serializer>(new EntryDeserializer(*this, join(prefix_, name) + "/"));
}

bool EntryDeserializer::contains(const std::string& name) const {
  return state_->source->contains(join(prefix_, name));
}

bool EntryDeserializer::is_wanted(const std::string& key) const {
  state_->asked.insert(with_dots(key));
  const LoadOptions& options = state_->options;
  const auto& names = options.ignore_names;
  if (std::find(names.begin(), names.end(), key) != names.end()) return false;
  if (options.ignore && options.ignore(key)) return false;
  if (options.strict || state_->source->contains(key)) return true;
  state_->report.missing.push_back(key);
  return false;
}

std::string EntryDeserializer::place(const std::string& name) const {
  return place_of_file() + "entry '" + join(prefix_, name) + "' ";
}

std::string EntryDeserializer::place_of_file() const {
  return std::string(state_->call) + ": " + state_->source->path() + ": ";
}

void EntryDeserializer::mismatch(const std::string& name, const std::string& what) {
  if (!state_->options.skip_mismatched) throw TypeError(place(name) + what);
  state_->report.mismatched.push_back({join(prefix_, name), what});
}

LoadReport EntryDeserializer::report() const {
  LoadReport report = state_->report;
  const std::string prefix = with_dots(trim_slashes(state_->options.path));
  for (const std::string& key : state_->source->keys()) {
    const std::string dotted = with_dots(key);
    const bool is_below = prefix.empty() || dotted.compare(0, prefix.size() + 1, prefix + ".") == 0;
    if (is_below && key != kChecksumsKey && state_->asked.count(dotted) == 0) report.unexpected.push_back(key);
  }
  return report;
}

void EntryDeserializer::array(const std::string& name, Array& value) {
  const std::string key = join(prefix_, name);
  if (!is_wanted(key)) return;
  const Entry entry = state_->source->value(key);
  if (entry.is_text) return mismatch(name, "is a string but the object wants an array");
  const Array& loaded = entry.array;
  if (!loaded.is_defined() || !value.is_defined()) {
    value = loaded;
    return;
  }
  if (loaded.shape() != value.shape()) {
    return mismatch(name, "has shape " + to_string(loaded.shape()) + " but the object's array has shape " +
                              to_string(value.shape()));
  }
  if (kind_of(loaded.dtype()) > kind_of(value.dtype())) {
    return mismatch(name, std::string("has dtype ") + kusari::name(loaded.dtype()) +
                              " but the object's array has dtype " + kusari::name(value.dtype()));
  }
  value.copy_from(loaded);
}

/// Undefined when the entry does not fit and is passed over.
Array EntryDeserializer::scalar(const std::string& name, Dtype widest) {
  const std::string key = join(prefix_, name);
  if (!is_wanted(key)) return {};
  const Entry found = state_->source->value(key);
  const std::string wanted = std::string(" but the object wants a ") + kusari::name(widest) + " number";
  std::string is;
  if (found.is_text) {
    is = "is a string";
  } else if (!found.array.is_defined()) {
    is = "is None";
  } else if (found.array.size() != 1) {
    is = "has shape " + to_string(found.array.shape());
  } else if (kind_of(found.array.dtype()) > kind_of(widest)) {
    is = std::string("has dtype ") + kusari::name(found.array.dtype());
  } else {
    return found.array;
  }
  mismatch(name, is + wanted);
  return {};
}

void EntryDeserializer::number(const std::string& name, int64_t& value) {
  if (const Array found = scalar(name, Dtype::int64); found.is_defined()) value = found.item<int64_t>();
}
void EntryDeserializer::number(const std::string& name, double& value) {
  if (const Array found = scalar(name, Dtype::float64); found.is_defined()) value = found.item<double>();
}
void EntryDeserializer::boolean(const std::string& name, bool& value) {
  if (const Array found = scalar(name, Dtype::bool_); found.is_defined()) value = found.item<bool>();
}
void EntryDeserializer::text(const std::string& name, std::string& value) {
  const std::string key = join(prefix_, name);
  if (!is_wanted(key)) return;
  Entry found = state_->source->value(key);
  if (!found.is_text) return mismatch(name, "is no string but the object wants one");
  value = std::move(found.text);
}

LoadReport load_entries(EntryDeserializer& reader, const Callable<void(Serializer&)>& serialize) {
  DictionarySerializer writer(true);
  serialize(writer);
  const Dictionary before = copied(writer.dictionary());
  try {
    serialize(reader);
  } catch (...) {
    const std::exception_ptr reason = std::current_exception();
    try {
      Restorer restorer(before);
      serialize(restorer);
    } catch (const std::exception& error) {  // the reason is what the caller must hear of
      log::error(std::string("load_entries: what was there before cannot be given back: ") + error.what());
    }
    std::rethrow_exception(reason);
  }
  LoadReport report = reader.report();
  if (!report.mismatched.empty()) {
    std::string text = std::to_string(report.mismatched.size()) + " entries that do not fit are passed over:";
    for (const LoadReport::Mismatch& entry : report.mismatched) text += "\n  '" + entry.key + "' " + entry.reason;
    log::warn(reader.place_of_file() + text);
  }
  return report;
}

}  // namespace kusari::serializers
