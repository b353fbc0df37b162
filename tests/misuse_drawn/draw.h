#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "fields.h"
#include "fields_of.h"
#include "kusari/kusari.h"
#include "plan.h"

// Arguments drawn by their types, and by their names where these say what fits together.
namespace kusari::misuse_drawn {

class Draw;

/// A function, method or constructor that is called.
struct Entry {
  const char* name;
  void (*call)(Draw& draw);
  bool is_rare;  ///< takes long to make: called rarely
};

/// What is known of a call while it runs; in memory that outlives the process.
struct Progress {
  static constexpr size_t kTextSize = size_t{1} << 14;
  int64_t elements = 0;  ///< of the largest argument, which may be a view that repeats few of them
  size_t length = 0;
  char text[kTextSize] = {};  ///< the arguments

  void add(std::string_view more) noexcept;
  void clear() noexcept { elements = 0, length = 0, text[0] = '\0'; }
};

/// What the arrays are that calls draw: as they may lie in memory, or the same numbers without gaps.
enum class Layouts : uint8_t { any, dense };

/// An array that a call returned, or the gradient of an argument.
struct ReadArray {
  Shape shape;
  Dtype dtype;
  std::vector<double> values;
};

template <class T>
struct As {};

template <class T>
concept Aggregate = FieldsOf<T>::kKnown;

/// A first member that must be given.
struct FirstMember {
  operator datasets::transforms::Size() const { return 3; }
  operator datasets::transforms::Margins() const { return 1; }
  operator datasets::transforms::Window() const { return {0, 0, 3}; }
};

class Draw {
 public:
  Draw(const char* call, uint64_t seed, Progress& progress, Layouts layouts = Layouts::any);

  /// An argument of type T under the name that it has in the declaration.
  template <class T>
  T make(const char* name) {
    return draw(As<T>(), name);
  }

  /// Calls a function, and then uses what it returns: reads arrays, goes backward.
  template <class Function>
  auto call(const Function& function) {
    using Result = std::invoke_result_t<const Function&>;
    progress_.add(" =>");
    if constexpr (std::is_void_v<Result>) {
      function();
    } else if constexpr (std::is_convertible_v<Result, std::unique_ptr<std::remove_cvref_t<Result>>>) {
      return function();
    } else if constexpr (requires(Result result) { result.get_deleter(); }) {
      return function();
    } else {
      const std::remove_cvref_t<Result> result = function();
      use(result);
    }
  }

  /// A method of an object that was made follows.
  void next(const char* method);
  /// Whether an argument lay with gaps, or would have without Layouts::dense.
  bool has_gaps() const noexcept { return has_gaps_; }
  const std::vector<ReadArray>& results() const noexcept { return results_; }
  int count_of_calls() { return static_cast<int>(random_.below(3)); }
  int weighted(std::initializer_list<int> weights);

 private:
  // --- leaves -------------------------------------------------------------------------------------------------------
  Variable draw(As<Variable>, const char* name);
  Array draw(As<Array>, const char* name);
  Dims draw(As<Dims>, const char* name);
  Dtype draw(As<Dtype>, const char* name);
  Device draw(As<Device>, const char* name);
  double draw(As<double>, const char* name);
  float draw(As<float>, const char* name) { return static_cast<float>(make<double>(name)); }
  bool draw(As<bool>, const char* name);
  Scalar draw(As<Scalar>, const char* name);
  std::string draw(As<std::string>, const char* name);
  Axes draw(As<Axes>, const char* name);
  PerAxis draw(As<PerAxis>, const char* name);
  PadWidth draw(As<PadWidth>, const char* name);
  Index draw(As<Index>, const char* name);
  Initializer draw(As<Initializer>, const char* name);
  distributions::ParameterValue draw(As<distributions::ParameterValue>, const char* name);
  ByName draw(As<ByName>, const char*) { return {}; }
  functions::TensordotAxes draw(As<functions::TensordotAxes>, const char* name);
  functions::Sampler draw(As<functions::Sampler>, const char* name);
  Callable<Variable(const Variable&)> draw(As<Callable<Variable(const Variable&)>>, const char* name);
  Callable<bool(int64_t)> draw(As<Callable<bool(int64_t)>>, const char* name);
  Callable<void(const Array&)> draw(As<Callable<void(const Array&)>>, const char* name);
  utils::CooMatrix draw(As<utils::CooMatrix>, const char* name);
  links::BinaryTree draw(As<links::BinaryTree>, const char* name);
  PackedSequence draw(As<PackedSequence>, const char* name);
  links::ConvolutionND draw(As<links::ConvolutionND>, const char* name);
  links::Linear draw(As<links::Linear>, const char* name);
  links::AnchorGrid draw(As<links::AnchorGrid>, const char* name);
  links::AnchorCoder draw(As<links::AnchorCoder>, const char* name);
  links::FasterRCNN::FirstLook draw(As<links::FasterRCNN::FirstLook>, const char* name);
  /// A process alone: calls of several ranks are those of tests/distributed.
  distributed::Communicator draw(As<distributed::Communicator>, const char*) { return {}; }
  std::shared_ptr<const links::StatisticsExchange> draw(As<std::shared_ptr<const links::StatisticsExchange>>,
                                                        const char* name);
  Array* draw(As<Array*>, const char* name);
  KVCache* draw(As<KVCache*>, const char* name);
  KVCacheLayer* draw(As<KVCacheLayer*>, const char* name);
  RandomState draw(As<RandomState>, const char* name);
  datasets::DatasetRef draw(As<datasets::DatasetRef>, const char* name);
  datasets::Example draw(As<datasets::Example>, const char* name);
  datasets::ExampleRandom draw(As<datasets::ExampleRandom>, const char* name);
  datasets::Column draw(As<datasets::Column>, const char* name);
  datasets::ColumnSource draw(As<datasets::ColumnSource>, const char* name);
  datasets::RowSelection draw(As<datasets::RowSelection>, const char* name);
  datasets::TabularView draw(As<datasets::TabularView>, const char* name);
  datasets::Padding draw(As<datasets::Padding>, const char* name);
  datasets::Converter draw(As<datasets::Converter>, const char* name);
  datasets::transforms::Size draw(As<datasets::transforms::Size>, const char* name);
  datasets::transforms::Margins draw(As<datasets::transforms::Margins>, const char* name);
  datasets::transforms::Window draw(As<datasets::transforms::Window>, const char* name);
  iterators::OrderSamplerRef draw(As<iterators::OrderSamplerRef>, const char* name);
  int64_t integer(const char* name, int64_t lowest, int64_t highest);

  template <class T>
  requires(std::integral<T> && !std::same_as<T, bool>) T draw(As<T>, const char* name) {
    constexpr auto kHighest = static_cast<uint64_t>(std::numeric_limits<T>::max());
    constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    return static_cast<T>(integer(name, static_cast<int64_t>(std::numeric_limits<T>::min()),
                                  static_cast<int64_t>(kHighest < kMost ? kHighest : kMost)));
  }
  template <class T>
  requires std::is_enum_v<T> T draw(As<T>, const char* name) {
    const auto& values = EnumeratorsOf<T>::kValues;
    const auto at = random_.below(std::size(values));
    note(name, "#" + std::to_string(at));
    return values[at];
  }
  std::string_view draw(As<std::string_view>, const char* name) {
    return *kept(std::make_shared<std::string>(make<std::string>(name)));
  }

  // --- what is made of others ---------------------------------------------------------------------------------------
  /// One that returns what was drawn, one that throws, or none.
  template <class R, class... Arguments>
  Callable<R(Arguments...)> draw(As<Callable<R(Arguments...)>>, const char* name) {
    const auto kind = nasty() ? random_.below(3) : 0;
    note(name, "function " + std::to_string(kind));
    if (kind == 1) return nullptr;
    if (kind == 2) return [](Arguments...) -> R { throw ValueError("a function's own error"); };
    return [result = make<R>(name)](Arguments...) { return result; };
  }
  template <class T>
  std::optional<T> draw(As<std::optional<T>>, const char* name) {
    if (random_.chance(0.5)) return std::nullopt;
    return make<T>(name);
  }
  template <class T>
  std::vector<T> draw(As<std::vector<T>>, const char* name) {
    std::vector<T> values;
    const int64_t count = plan_.count_of(name, random_);
    note(name, "[");
    for (int64_t i = 0; i < count; ++i) values.push_back(make<T>(name));
    progress_.add(" ]");
    return values;
  }
  template <class T>
  std::span<const T> draw(As<std::span<const T>>, const char* name) {
    return *kept(std::make_shared<std::vector<T>>(make<std::vector<T>>(name)));
  }
  template <class T, size_t n>
  std::array<T, n> draw(As<std::array<T, n>>, const char* name) {
    return [&]<size_t... kIndex>(std::index_sequence<kIndex...>) {
      return std::array<T, n>{(static_cast<void>(kIndex), make<T>(name))...};
    }
    (std::make_index_sequence<n>());
  }
  template <class A, class B>
  std::pair<A, B> draw(As<std::pair<A, B>>, const char* name) {
    A first = make<A>(name);
    return {std::move(first), make<B>(name)};
  }
  /// Most members keep what they begin with.
  template <Aggregate T>
  T draw(As<T>, const char* name) {
    T value = [] {
      if constexpr (requires { T{}; }) {
        return T{};
      } else {
        return T{FirstMember()};
      }
    }();
    note(name, "{");
    const double changed = random_.chance(0.3) ? 0 : 0.35;
    FieldsOf<T>::each(value, [&](const char* field, auto& member) {
      using Member = std::remove_cvref_t<decltype(member)>;
      if (random_.chance(plan_.needs(field) ? 0.9 : changed)) member = make<Member>(field);
    });
    progress_.add(" }");
    return value;
  }

  // --- results ------------------------------------------------------------------------------------------------------
  void use(const Variable& y);
  void use(const Array& y);
  void use(const utils::CooMatrix& y) { use(y.to_dense()); }
  void use(const PackedSequence& y) { use(y.data()); }
  template <class T>
  void use(const T& result) {
    if constexpr (Aggregate<T>) {
      FieldsOf<T>::each(const_cast<T&>(result), [&](const char*, auto& member) { use(member); });
    } else if constexpr (requires { result.first; }) {
      use(result.first), use(result.second);
    } else if constexpr (!std::is_convertible_v<T, std::string_view> && requires { result.begin(), result.end(); }) {
      for (const auto& element : result) use(element);
    }
  }

  template <class T>
  T* kept(std::shared_ptr<T> object) {
    kept_.push_back(object);
    return object.get();
  }
  void note(const char* name, std::string_view text);
  bool nasty() { return random_.chance(plan_.nasty); }
  Array plain_array(const Shape& shape, Dtype dtype, int64_t integers_below);
  Array laid_out(const Array& array);
  Array nasty_array(const Shape& shape, Dtype dtype, int64_t integers_below);
  Array array_of(const char* name);

  Random random_;
  Plan plan_;
  Progress& progress_;
  std::deque<std::shared_ptr<void>> kept_;
  std::vector<Variable> leaves_;
  Layouts layouts_;
  bool has_gaps_ = false;
  std::vector<ReadArray> results_;
};

/// All that there is, in the order of the names.
const std::vector<Entry>& entries();

}  // namespace kusari::misuse_drawn
