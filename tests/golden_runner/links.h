#pragma once

#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "kusari/framework/initializers/initializer.h"
#include "kusari/framework/links/any_link.h"
#include "kusari/framework/links/link.h"
#include "kusari/tests/golden_runner/args.h"
#include "kusari/tests/golden_runner/functions.h"

namespace kusari {
namespace links {}
namespace L = links;
}  // namespace kusari

namespace kusari::golden {

/// Calls a link, or one of its methods, with the arguments of the Chainer signature given.
struct LinkMethod {
  Signature signature;
  std::function<Variables(Args&)> call;
};

/// A link with the ways in which a case uses it.
struct LinkUnderTest {
  std::unique_ptr<Link> link;
  LinkMethod call;
  std::function<Variable(const std::string&)> state;  ///< an attribute by Chainer's name
  std::function<AnyLink()> model;                     ///< a copy, as part of another link; null where it cannot be one
  std::map<std::string, LinkMethod> methods;          ///< what a case calls instead of the link
};

/// `call(link, args)` calls it; `state(link, name)` reads an attribute. `signature` is that of Chainer's forward:
/// "forward(x, n_batch_axes=1)".
template <class T, class Call, class State>
LinkUnderTest link_under_test(T link, const std::string& signature, Call call, State state) {
  auto owner = std::make_unique<T>(std::move(link));
  T* const raw = owner.get();
  std::function<AnyLink()> model;
  if constexpr (detail::kIsModel<T>) model = [raw] { return AnyLink(T(*raw)); };
  return {std::move(owner),
          {Signature::parse(signature), [raw, call](Args& args) { return collect(call(*raw, args)); }},
          [raw, state](const std::string& name) { return state(*raw, name); },
          std::move(model),
          {}};
}
template <class T, class Call>
LinkUnderTest link_under_test(T link, const std::string& signature, Call call) {
  return link_under_test(std::move(link), signature, call, [](T&, const std::string& name) -> Variable {
    throw std::runtime_error("the runner knows no attribute " + name);
  });
}
/// A link that is called with one array.
template <class T>
LinkUnderTest link_of_x(T link) {
  return link_under_test(std::move(link), "forward(x)", [](T& self, Args& args) { return self(args.var("x")); });
}
/// Adds a method: `with_method<L::CRF1d>(link_under_test(...), "argmax(xs)", [](L::CRF1d& link, Args& args) { ... })`.
template <class T, class Method>
LinkUnderTest with_method(LinkUnderTest under_test, const std::string& signature, Method method) {
  T* const raw = static_cast<T*>(under_test.link.get());
  Signature parsed = Signature::parse(signature);
  const std::string name = parsed.name;
  under_test.methods[name] = {std::move(parsed), [raw, method](Args& args) { return collect(method(*raw, args)); }};
  return under_test;
}

/// An argument that says how a parameter starts: a number, {"zeros": shape}, an array of the case, numbers in lists, or
/// {"initializer": name, "ctor": {...}}. None is `otherwise`.
Initializer initializer_argument(Args& args, const std::string& name, const Initializer& otherwise);
/// An argument that is a function of one array, {"function": "tanh"}.
std::function<Variable(const Variable&)> activation_argument(Args& args, const std::string& name);

/// The arguments of Chainer's constructor, and the case's note, which names what replaced random samples.
struct LinkArgs : Args {
  LinkArgs(const Signature& signature, const Json& ctor, const Inputs& inputs, std::string case_note = {})
      : Args(signature, ctor, Json::object(), inputs), note{std::move(case_note)} {}
  std::string note;
};

/// Makes a link from them.
using LinkFactory = std::function<LinkUnderTest(LinkArgs& ctor)>;
using LinkTable = std::map<std::string, LinkFactory>;

// The links of each family, by Chainer's names.
void add_activation_links(LinkTable& table);
void add_batch_normalization_links(LinkTable& table);
void add_connection_links(LinkTable& table);
void add_convolution_links(LinkTable& table);
void add_loss_links(LinkTable& table);
void add_model_links(LinkTable& table);
void add_normalization_links(LinkTable& table);
void add_rnn_links(LinkTable& table);
void add_sampling_links(LinkTable& table);
/// All of them.
const LinkTable& link_table();
/// Makes one of them, and checks that each argument was read. Throws Unsupported when there is no such link.
LinkUnderTest make_link(const std::string& name, const Json& ctor, const Inputs& inputs, const std::string& note = {});

}  // namespace kusari::golden
