#pragma once

#include <array>
#include <concepts>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/packed_result.h"
#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/owned.h"
#include "kusari/framework/links/home.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/static_graph/passes_options.h"

namespace kusari {

struct StaticGraphOptions {
  std::string name = {};  ///< in messages and profiles; default: the class of the model
  /// What cannot be recorded runs define-by-run for good, with one warning, instead of throwing StateError.
  bool fallback = false;
  int max_signatures = 8;  ///< calls of further ones run define-by-run, with one warning
  /// On devices that replay graphs: results get memory of their own at every call, instead of the graph's, which the
  /// next call overwrites. Elsewhere they always do.
  bool copy_outputs = false;
  bool force_test_define_by_run = false;  ///< only calls that train are replayed
  bool minimize_cache_size = false;       ///< forget the recordings of training while testing, and the other way round
  int verbosity_level = 0;                ///< 1: a line of log for each recording; 2: for each call
  StaticGraphPasses passes = {};
};

namespace graphs {
class Engines;
}

namespace detail {

/// The recordings of one static graph. A copy has none.
class KUSARI_API StaticGraphCache {
 public:
  /// What the graph calls, without its type.
  struct Callee {
    Variables (*call)(void* object, std::span<const Variable> inputs);
    void* object;
    Link* model;  ///< null for a callable that is no link
  };

  StaticGraphCache(StaticGraphOptions options, const std::type_info& callee);
  StaticGraphCache(const StaticGraphCache& other);
  StaticGraphCache(StaticGraphCache&& other) noexcept;
  StaticGraphCache& operator=(const StaticGraphCache& other);
  StaticGraphCache& operator=(StaticGraphCache&& other) noexcept;
  ~StaticGraphCache();

  /// Whether a call is to be recorded or replayed at all, now and in this thread.
  bool is_on() const noexcept;
  Variables call(const Callee& callee, std::span<const Variable> inputs);

  const std::string& name() const noexcept;
  std::string summary() const;
  std::string dot() const;
  void write_dot(const std::string& path) const;
  void clear() noexcept;

 private:
  Owned<graphs::Engines> engines_;
};

/// Calls F through the cache.
template <class F, class... Args>
auto call_static_graph(StaticGraphCache& cache, F& function, Link* model, const Args&... args) {
  using Result = std::remove_cvref_t<std::invoke_result_t<F&, VariableRef<Args>...>>;
  const auto converted = [](Variable argument) { return argument; };  // implicitly: a raw array gets no gradient
  const std::array<Variable, sizeof...(Args)> inputs{converted(args)...};
  const auto run = [](F& f, std::span<const Variable> given) -> Result {
    return [&]<size_t... kIndex>(std::index_sequence<kIndex...>)->Result { return f(given[kIndex]...); }
    (std::index_sequence_for<Args...>());
  };
  if (!cache.is_on()) return run(function, inputs);
  const auto call = [](void* object, std::span<const Variable> given) {
    return PackedResult<Result>::flat(decltype(run)()(*static_cast<F*>(object), given));
  };
  void* const object = const_cast<std::remove_const_t<F>*>(&function);  // `call` makes it const again
  return PackedResult<Result>::made(cache.call({call, object, model}, inputs));
}

/// What all static graphs offer beside the call.
class KUSARI_API StaticGraphBase {
 public:
  /// The recordings: kernels, memory before and after planning, what the passes did.
  std::string summary() const { return cache_.summary(); }
  /// The recorded kernels and their arrays in Graphviz's language.
  std::string dot() const { return cache_.dot(); }
  void write_dot(const std::string& path) const { cache_.write_dot(path); }
  /// Forgets all recordings: the next call is recorded again.
  void clear() noexcept { cache_.clear(); }
  const std::string& name() const noexcept { return cache_.name(); }

 protected:
  StaticGraphBase(StaticGraphOptions options, const std::type_info& callee) : cache_{std::move(options), callee} {}
  mutable StaticGraphCache cache_;
};

}  // namespace detail

/// A callable of Variables whose computation is recorded at its first call and replayed afterwards: see static_graph().
template <class F>
class StaticGraph : public detail::StaticGraphBase {
 public:
  explicit StaticGraph(F function, StaticGraphOptions options = {})
      : StaticGraphBase(std::move(options), typeid(F)), function_{std::move(function)} {}

  template <class... Args>
  requires detail::TakesAsVariables<F, Args...>
  auto operator()(const Args&... args) { return detail::call_static_graph(cache_, function_, nullptr, args...); }

 private:
  F function_;
};

/// A link that is called so. It owns the link and stands for it in the tree of parameters: same paths, same snapshots.
template <LinkType M>
class StaticGraph<M> : public Link, public detail::StaticGraphBase {
 public:
  using Options = StaticGraphOptions;
  explicit StaticGraph(M model, StaticGraphOptions options = {})
      : StaticGraphBase(std::move(options), typeid(M)), model_{std::move(model)} {}

  template <class... Args>
  requires detail::TakesAsVariables<M, Args...>
  auto operator()(const Args&... args) { return detail::call_static_graph(cache_, model_, &model_, args...); }
  /// Where the link's operator() is const.
  template <class... Args>
  requires detail::TakesAsVariables<const M, Args...>
  auto operator()(const Args&... args) const {
    return detail::call_static_graph(cache_, model_, const_cast<M*>(&model_), args...);
  }

  M& model() noexcept { return model_; }
  const M& model() const noexcept { return model_; }
  const Device& device() const noexcept { return model_.device(); }
  Link& self() noexcept override { return model_.self(); }
  void serialize(Serializer& serializer) override { model_.serialize(serializer); }
  bool keeps_float32() const noexcept override { return model_.keeps_float32(); }

 protected:
  size_t object_size() const noexcept override { return sizeof(M); }

 private:
  M model_;
};

/// The same around a link that somebody else owns; follows it when it is moved.
template <LinkType M>
class StaticGraph<M&> : public Link, public detail::StaticGraphBase {
 public:
  using Options = StaticGraphOptions;
  explicit StaticGraph(M& model, StaticGraphOptions options = {})
      : StaticGraphBase(std::move(options), typeid(M)), home_{model.home()} {}

  template <class... Args>
  requires detail::TakesAsVariables<M, Args...>
  auto operator()(const Args&... args) const {
    M& link = model();
    return detail::call_static_graph(cache_, link, &link, args...);
  }

  /// Throws StateError when the model is gone.
  M& model() const { return static_cast<M&>(home_->get()); }
  const Device& device() const { return home_->get().device(); }
  Link& self() noexcept override {
    Link* const link = home_->find();
    return link != nullptr ? link->self() : *this;
  }
  void serialize(Serializer& serializer) override { model().serialize(serializer); }

 protected:
  size_t object_size() const noexcept override { return sizeof(M); }

 private:
  IntrusivePtr<Home> home_;
};

/// A callable that computes what `function` does, without the cost of define-by-run. The first call with inputs of
/// certain shapes, dtypes, strides and devices under certain settings (train, enable_backprop, autocast, ..) runs
/// `function`, whose kernels are recorded, those of its backward when that comes. Later calls launch these kernels
/// alone: no graph, no allocation for intermediates, one graph launch where the device has graphs. Results, gradients,
/// running statistics, random numbers, report() and the members that a Classifier sets are those of define-by-run.
///
/// `function`: a link (an lvalue is referred to and followed when it moves, an rvalue is owned: the result is a link
/// with the same parameter paths), or a callable, of Variables; it returns Variable, Variables, std::vector<Variable>,
/// or a pair or tuple of Variables. Whatever else it does on the host, it does when it is recorded only; see
/// static_code. Options of layers (a dropout ratio) are recorded as they are: call clear() after changing them.
///
/// A call throws StateError when `function` decides by the numbers in an array (item(), to_vector()) or cannot be
/// repeated for another reason, unless options.fallback. backward goes through a call once; gradients of gradients need
/// define-by-run. The results are those of one function: what reaches one of them by way of another is no part of its
/// own gradient. Parameters may get other arrays; other shapes, dtypes, or a moved model are recorded anew.
/// Function hooks see the functions of a call that is recorded, and one function named "static_graph" of each call.
/// config().use_static_graph = false, config().debug or KUSARI_STATIC_GRAPH=0 turns all static graphs into plain calls,
/// and inside another static graph that is being recorded they are. chainer.static_graph.
template <class F>
auto static_graph(F&& function, StaticGraphOptions options = {}) {
  using Callee = std::remove_reference_t<F>;
  if constexpr (LinkType<std::remove_cv_t<Callee>>) {
    static_assert(!std::is_const_v<Callee>, "static_graph: a call changes the model");
    using Held = std::conditional_t<std::is_lvalue_reference_v<F>, Callee&, Callee>;
    return StaticGraph<Held>(std::forward<F>(function), std::move(options));
  } else {
    return StaticGraph<std::decay_t<F>>(std::forward<F>(function), std::move(options));
  }
}

}  // namespace kusari
