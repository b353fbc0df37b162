#include "kusari/framework/amp/autocast.h"

#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "kusari/framework/autograd/cast.h"
#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/intrusive_ptr.h"
#include "kusari/framework/core/thread_owned.h"

namespace kusari::amp {
namespace {

using detail::VariableNode;

enum class Rule : uint8_t { refused, full, low, widest, narrowest, untouched, unlisted };

Rule rule_of(Precision precision) {
  switch (precision) {
    case Precision::low:
      return Rule::low;
    case Precision::full:
      return Rule::full;
    case Precision::widest:
      return Rule::widest;
    case Precision::listed:
    case Precision::untouched:
      break;
  }
  return Rule::untouched;
}

Rule find_rule(const PrecisionLists& lists, std::string_view name) {
  if (lists.refused.contains(name)) return Rule::refused;
  if (lists.full.contains(name)) return Rule::full;
  if (lists.low.contains(name)) return Rule::low;
  if (lists.widest.contains(name)) return Rule::widest;
  if (lists.narrowest.contains(name)) return Rule::narrowest;
  if (lists.untouched.contains(name)) return Rule::untouched;
  return Rule::unlisted;
}

/// The rules of the names that this thread met lately. A name is mostly a literal, found again by its address; the text
/// is compared all the same, for a function may make its name anew.
class RuleTable {
 public:
  Rule find(const PrecisionLists& lists, uint64_t id, const char* name) {
    Entry& entry = entries_[slot(id, name)];
    if (entry.id == id && std::strcmp(entry.name, name) == 0) [[likely]]
      return entry.rule;
    const Rule rule = find_rule(lists, name);
    if (std::strlen(name) < sizeof entry.name) {
      entry.id = id;
      entry.rule = rule;
      std::strcpy(entry.name, name);
    }
    return rule;
  }

 private:
  struct Entry {
    uint64_t id;  // of the lists; 0: empty
    Rule rule;
    char name[55];
  };
  static constexpr size_t kEntries = 256;

  static size_t slot(uint64_t id, const char* name) {
    constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;  // Fibonacci hashing
    return ((reinterpret_cast<uintptr_t>(name) ^ id) * kGolden) >> 56;
  }

  std::array<Entry, kEntries> entries_{};
};

// Ids of the two lists that never change; others may, and get a new one for each region.
constexpr uint64_t kAutocastLists = 1, kTensorflowLists = 2;

/// The 16-bit copies of float32 leaves.
class CastCache {
 public:
  Variable find_or_cast(const Variable& leaf, Dtype dtype) {
    const Array& array = leaf.array();
    const detail::Storage& storage = array.storage();
    if (storage.is_exposed.load(std::memory_order_relaxed)) return autograd::cast(leaf, dtype);
    const Key key{leaf.node(), dtype};
    const auto found = entries_.find(key);
    const State now{storage.id, storage.generation.load(std::memory_order_relaxed), array.raw_data()};
    if (found != entries_.end() && found->second.serves(now, array)) return found->second.copy;
    if (found == entries_.end()) drop_orphans();
    Entry fresh{autograd::cast(leaf, dtype), IntrusivePtr<VariableNode>(leaf.node()), now};
    return entries_.insert_or_assign(key, std::move(fresh)).first->second.copy;
  }

 private:
  struct Key {
    const VariableNode* leaf;
    Dtype dtype;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const noexcept {
      return reinterpret_cast<uintptr_t>(key.leaf) / alignof(VariableNode) ^ static_cast<size_t>(key.dtype);
    }
  };
  /// What the leaf held when it was copied.
  struct State {
    uint64_t storage;
    uint64_t generation;
    const void* data;
    friend bool operator==(const State&, const State&) = default;
  };
  struct Entry {
    Variable copy;
    IntrusivePtr<VariableNode> leaf;  // so that its address names nothing else
    State state{};

    bool serves(const State& now, const Array& array) const {
      if (!(state == now) || copy.shape() != array.shape()) return false;
      // A copy made without a graph, or one that unchain_backward() cut off, leads no gradient to the leaf.
      return copy.creator() != nullptr || !config().enable_backprop;
    }
  };

  // An input of the model that wants a gradient is a leaf as well, a new one in each iteration.
  void drop_orphans() {
    std::erase_if(entries_, [](const auto& entry) { return entry.second.leaf->handles() == 0; });
  }

  std::unordered_map<Key, Entry, Hash> entries_;
};

/// What a thread's regions share.
struct ThreadRegions {
  RuleTable rules;
  uint64_t last_id = kTensorflowLists;
  std::optional<CastCache> cache;  // from the beginning of the first region to the end of the last
  int count = 0;
};
constinit thread_local ThreadRegions* t_regions __attribute__((tls_model("initial-exec"))) = nullptr;

ThreadRegions& regions() { return kusari::detail::thread_owned(t_regions); }

uint64_t id_of(const PrecisionLists& lists) {
  if (&lists == &autocast_lists()) return kAutocastLists;
  return &lists == &tensorflow_lists() ? kTensorflowLists : ++regions().last_id;
}

/// What a static graph records must not use copies that were made before, which a replay would not make again; nor may
/// others use copies that lie in its memory.
CastCache& current_cache() {
  GraphCapture* const capture = GraphCapture::current();
  if (capture == nullptr) [[likely]]
    return *regions().cache;
  if (!capture->kept_meanwhile) capture->kept_meanwhile = std::make_shared<CastCache>();
  return *static_cast<CastCache*>(capture->kept_meanwhile.get());
}

uint64_t mixed(uint64_t hash, uint64_t value) { return (hash ^ value) * 0x9E3779B97F4A7C15; }

/// Of what the lists say.
uint64_t hash_of(const PrecisionLists& lists) {
  uint64_t hash = static_cast<uint64_t>(lists.unlisted) + 1;
  const auto add = [&](std::string_view name) { hash = mixed(hash, std::hash<std::string_view>{}(name)); };
  for (const auto& [name, instead] : lists.refused) add(name);
  for (const auto* names : {&lists.full, &lists.low, &lists.widest, &lists.narrowest, &lists.untouched}) {
    for (const std::string& name : *names) add(name);
    hash = mixed(hash, names->size());
  }
  return hash;
}

/// The floating dtypes among inputs.
struct Floats {
  bool float16 = false, bfloat16 = false, float32 = false, float64 = false;
  const Array* first = nullptr;

  explicit Floats(const InputCaster::Inputs& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!is_floating_array(inputs[i])) continue;
      const Array& array = inputs[i].array();
      if (first == nullptr) first = &array;
      switch (array.dtype()) {
        case Dtype::float16:
          float16 = true;
          break;
        case Dtype::bfloat16:
          bfloat16 = true;
          break;
        case Dtype::float32:
          float32 = true;
          break;
        default:
          float64 = true;
      }
    }
  }
  static bool is_floating_array(const Variable& x) {
    return x.is_defined() && x.array().is_defined() && x.array().is_floating();
  }
  bool differ() const noexcept { return float16 + bfloat16 + float32 > 1; }
};

}  // namespace

class Autocast::Region final : public InputCaster {
 public:
  explicit Region(const AutocastOptions& options)
      : dtype_{options.dtype},
        cache_enabled_{options.cache_enabled},
        lists_{options.lists != nullptr ? options.lists : &autocast_lists()},
        lists_id_{id_of(*lists_)},
        scope_{options.enabled                                 ? this
               : dynamic_cast<Region*>(detail::t_input_caster) ? nullptr
                                                               : detail::t_input_caster} {
    ThreadRegions& all = regions();
    if (all.count++ == 0) all.cache.emplace();
  }
  ~Region() override {
    ThreadRegions& all = regions();
    if (--all.count != 0) return;
    all.cache.reset();
    if (GraphCapture* const capture = GraphCapture::current()) capture->kept_meanwhile = nullptr;
  }

  AutocastOptions options() const { return {.dtype = dtype_, .cache_enabled = cache_enabled_, .lists = lists_}; }

  void cast(const FunctionNode& function, Inputs& inputs) override {
    const Precision own = function.precision();
    if (own != Precision::listed) return convert(rule_of(own), function.name(), inputs);
    const Rule rule = regions().rules.find(*lists_, lists_id_, function.name());
    convert(rule == Rule::unlisted ? rule_of(lists_->unlisted) : rule, function.name(), inputs);
  }

  bool cast_composite(const char* name, Inputs& inputs) override {
    const Rule rule = regions().rules.find(*lists_, lists_id_, name);
    if (rule == Rule::unlisted) return false;
    convert(rule, name, inputs);
    return true;
  }

  // The copies that other calls keep have a place in a graph of their own.
  Callable<std::shared_ptr<void>()> maker() override {
    AutocastOptions own = options();
    own.cache_enabled = false;
    return [own] { return std::make_shared<Autocast>(own); };
  }

  uint64_t signature() const noexcept override {
    if (signature_ == 0) {
      const uint64_t lists = lists_id_ <= kTensorflowLists ? lists_id_ : hash_of(*lists_);
      const uint64_t dtype = dtype_ ? static_cast<uint64_t>(*dtype_) + 1 : 0;
      signature_ = mixed(mixed(0, lists), dtype * 2 + cache_enabled_) | 1;
    }
    return signature_;
  }

 private:
  void convert(Rule rule, const char* name, Inputs& inputs) {
    if (rule == Rule::untouched) return;
    const Floats floats(inputs);
    if (floats.first == nullptr || floats.float64) return;
    const Dtype low = dtype_.value_or(floats.first->device().is_cpu() ? Dtype::bfloat16 : Dtype::float16);
    switch (rule) {
      case Rule::refused:
        throw ValueError(std::string("F::") + name +
                         ": amp::Autocast refuses it: " + lists_->refused.find(name)->second);
      case Rule::full:
        return floats.float16 || floats.bfloat16 ? convert_to(Dtype::float32, inputs) : void();
      case Rule::low:
        return convert_to(low, inputs);
      case Rule::widest:
        return floats.differ() ? convert_to(Dtype::float32, inputs) : void();  // promote(float16, bfloat16), too
      case Rule::narrowest:
        return floats.differ() ? convert_to(low, inputs) : void();
      case Rule::untouched:
      case Rule::unlisted:
        break;
    }
  }

  void convert_to(Dtype dtype, Inputs& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Variable& x = inputs[i];
      if (Floats::is_floating_array(x) && x.array().dtype() != dtype) inputs.replace(i, converted(x, dtype));
    }
  }

  Variable converted(const Variable& x, Dtype dtype) const {
    const bool is_kept = cache_enabled_ && is_half(dtype) && x.requires_grad() && x.node()->is_leaf() &&
                         x.array().dtype() == Dtype::float32;
    return is_kept ? current_cache().find_or_cast(x, dtype) : autograd::cast(x, dtype);
  }

  const std::optional<Dtype> dtype_;
  const bool cache_enabled_;
  const PrecisionLists* const lists_;
  const uint64_t lists_id_;
  mutable uint64_t signature_ = 0;  // 0: not asked for yet
  const ScopedInputCaster scope_;
};

Autocast::Autocast(const AutocastOptions& options) {
  if (options.dtype && !is_half(*options.dtype)) {
    throw ValueError(std::string("amp::Autocast: dtype is ") + name(*options.dtype) +
                     ": it must be float16 or bfloat16");
  }
  region_ = std::make_unique<Region>(options);
}

Autocast::~Autocast() = default;

bool is_autocast_enabled() { return dynamic_cast<Autocast::Region*>(detail::t_input_caster) != nullptr; }

std::optional<AutocastOptions> autocast_options() {
  const auto* const region = dynamic_cast<Autocast::Region*>(detail::t_input_caster);
  return region != nullptr ? std::optional<AutocastOptions>(region->options()) : std::nullopt;
}

}  // namespace kusari::amp
