#include "kusari/framework/core/reporter.h"

#include <algorithm>
#include <atomic>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"

namespace kusari {
namespace {

constinit thread_local Reporter* current_reporter __attribute__((tls_model("initial-exec"))) = nullptr;

uint64_t next_version() noexcept {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

bool is_joined(const std::string& whole, std::string_view prefix, std::string_view key) noexcept {
  return whole.size() == prefix.size() + key.size() && std::string_view(whole).substr(prefix.size()) == key &&
         std::string_view(whole).substr(0, prefix.size()) == prefix;
}

}  // namespace

double ObservedValue::value() const {
  if (!array_.is_defined()) return number_;
  if (array_.ndim() != 0) {
    throw TypeError("ObservedValue::value: the array has shape " + to_string(array_.shape()) +
                    ": only a number or a 0-d array has a value");
  }
  return array_.item<double>();
}

void Observation::set(std::string_view prefix, std::string_view key, ObservedValue value) {
  for (Entry& entry : entries_) {
    if (is_joined(entry.first, prefix, key)) {
      entry.second = std::move(value);
      return;
    }
  }
  std::string name;
  name.reserve(prefix.size() + key.size());
  name.append(prefix).append(key);
  entries_.emplace_back(std::move(name), std::move(value));
}

const ObservedValue* Observation::find(std::string_view key) const noexcept {
  for (const Entry& entry : entries_) {
    if (entry.first == key) return &entry.second;
  }
  return nullptr;
}

double Observation::at(std::string_view key) const {
  if (const ObservedValue* value = find(key)) return value->value();
  std::string message = "Observation::at: nothing is reported as '" + std::string(key) + "'; there is";
  for (const Entry& entry : entries_) message += " '" + entry.first + "'";
  throw KeyError(message + (entries_.empty() ? " nothing" : ""));
}

ObserverSource::~ObserverSource() = default;

ReportScope::ReportScope(Reporter& reporter, Observation& observation) noexcept
    : reporter_{&reporter},
      previous_reporter_{std::exchange(current_reporter, &reporter)},
      previous_observation_{std::exchange(reporter.observation_, &observation)},
      previous_keeps_graphs_{std::exchange(reporter.keeps_graphs_, config().keep_graph_on_report.get())} {}

ReportScope::ReportScope(Observation& observation) : reporter_{current_reporter}, previous_reporter_{current_reporter} {
  if (reporter_ == nullptr) throw StateError("report_scope: no reporter is current in this thread");
  previous_observation_ = std::exchange(reporter_->observation_, &observation);
  previous_keeps_graphs_ = std::exchange(reporter_->keeps_graphs_, config().keep_graph_on_report.get());
}

ReportScope::~ReportScope() {
  reporter_->observation_ = previous_observation_;
  reporter_->keeps_graphs_ = previous_keeps_graphs_;
  current_reporter = previous_reporter_;
}

void Reporter::add_observer(const std::string& name, const void* observer) {
  version_ = next_version();
  std::vector<Name>& names = registering_ ? names_ : own_names_;
  const auto known = std::find_if(names.begin(), names.end(), [&](const Name& n) { return n.observer == observer; });
  if (known != names.end()) {
    known->prefix = name + "/";
  } else {
    names.push_back({observer, name + "/"});
  }
}

void Reporter::add_observers(std::unique_ptr<ObserverSource> source) {
  sources_.push_back({std::move(source), UINT64_MAX});
}

void Reporter::add_observers(Reporter& other, std::span<const std::pair<const void*, const void*>> copies) {
  if (other.sources_moved()) other.register_sources();
  for (const std::vector<Name>* names : {&other.names_, &other.own_names_}) {
    for (const Name& name : *names) add_observer(name.prefix.substr(0, name.prefix.size() - 1), name.observer);
  }
  for (const auto& [original, copy] : copies) {
    const std::string* const prefix = other.find(original);
    if (prefix != nullptr) add_observer(prefix->substr(0, prefix->size() - 1), copy);
  }
}

uint64_t Reporter::observers_version() {
  if (sources_moved()) register_sources();
  return version_;
}

const std::string* Reporter::find(const void* observer) noexcept {
  for (const std::vector<Name>* names : {&own_names_, &names_}) {
    for (const Name& name : *names) {
      if (name.observer == observer) return &name.prefix;
    }
  }
  return nullptr;
}

bool Reporter::sources_moved() const {
  return std::any_of(sources_.begin(), sources_.end(),
                     [](const Source& s) { return s.source->version() != s.version; });
}

void Reporter::register_sources() {
  struct Guard {
    bool& flag;
    explicit Guard(bool& f) : flag{f} { flag = true; }
    ~Guard() { flag = false; }
  } const guard(registering_);
  names_.clear();
  version_ = next_version();
  for (Source& s : sources_) {
    s.version = s.source->version();
    s.source->add_observers(*this);
  }
}

void Reporter::report(std::initializer_list<Reported> values, const void* observer) {
  GraphCapture* const capture = GraphCapture::current();
  if (capture != nullptr) [[unlikely]]
    capture->reported({values.begin(), values.size()}, observer);
  const std::string* prefix = nullptr;
  if (observer != nullptr) {
    if (sources_moved()) register_sources();
    prefix = find(observer);
    if (prefix == nullptr) {
      const std::string name(values.size() == 0 ? std::string_view() : values.begin()->name);
      throw KeyError("report: the observer of '" + name + "' is not registered to the current reporter");
    }
  }
  const std::string_view name = prefix == nullptr ? std::string_view() : std::string_view(*prefix);
  for (const Reported& value : values) {
    if (value.is_absent || (value.array != nullptr && !value.array->is_defined())) {
      throw ValueError("report: the value '" + std::string(value.name) + "' is undefined");
    }
    if (value.array != nullptr) {
      const Array array = capture != nullptr ? capture->lent(*value.array) : *value.array;
      ObservedValue observed(array, value.weight);
      // A recorded step has no graph after it.
      if (keeps_graphs_ && value.keep != nullptr && capture == nullptr) observed.keep(value.keep(value.variable));
      observation_->set(name, value.name, std::move(observed));
    } else {
      observation_->set(name, value.name, ObservedValue(value.number, value.weight));
    }
  }
}

Reporter* get_current_reporter() noexcept { return current_reporter; }

void report(std::initializer_list<Reported> values, const void* observer) {
  if (current_reporter != nullptr) {
    current_reporter->report(values, observer);
  } else if (GraphCapture* const capture = GraphCapture::current()) {  // a replay may find one
    capture->reported({values.begin(), values.size()}, observer);
  }
}

}  // namespace kusari
