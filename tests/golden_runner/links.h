#pragma once

#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "kusari/framework/links/link.h"
#include "kusari/tests/golden_runner/args.h"
#include "kusari/tests/golden_runner/functions.h"

namespace kusari {
namespace links {}
namespace L = links;
}  // namespace kusari

namespace kusari::golden {

/// A link with the ways in which a case uses it.
struct LinkUnderTest {
  std::unique_ptr<Link> link;
  std::function<Variables(Args&)> call;
  std::function<Variable(const std::string&)> state;               ///< an attribute by Chainer's name
  std::map<std::string, std::function<Variables(Args&)>> methods;  ///< what a case calls instead of the link
};

/// `call(link, args)` calls it; `state(link, name)` reads an attribute.
template <class T, class Call, class State>
LinkUnderTest link_under_test(T link, Call call, State state) {
  auto owner = std::make_unique<T>(std::move(link));
  T* const raw = owner.get();
  return {std::move(owner),
          [raw, call](Args& args) { return collect(call(*raw, args)); },
          [raw, state](const std::string& name) { return state(*raw, name); },
          {}};
}
template <class T, class Call>
LinkUnderTest link_under_test(T link, Call call) {
  return link_under_test(std::move(link), call, [](T&, const std::string& name) -> Variable {
    throw std::runtime_error("the runner knows no attribute " + name);
  });
}
/// A link that is called with one array, by the name x or by position.
template <class T>
LinkUnderTest link_of_x(T link) {
  return link_under_test(std::move(link), [](T& self, Args& args) { return self(args.only()); });
}
/// Adds a method: `with_method<L::CRF1d>(link_under_test(...), "argmax", [](L::CRF1d& link, Args& args) { ... })`.
template <class T, class Method>
LinkUnderTest with_method(LinkUnderTest under_test, const std::string& name, Method method) {
  T* const raw = static_cast<T*>(under_test.link.get());
  under_test.methods[name] = [raw, method](Args& args) { return collect(method(*raw, args)); };
  return under_test;
}

/// Makes a link from the arguments of Chainer's constructor.
using LinkFactory = std::function<LinkUnderTest(Args& ctor)>;
using LinkTable = std::map<std::string, LinkFactory>;

// The links of each family, by Chainer's names.
void add_activation_links(LinkTable& table);
void add_batch_normalization_links(LinkTable& table);
void add_connection_links(LinkTable& table);
void add_convolution_links(LinkTable& table);
void add_loss_links(LinkTable& table);
void add_model_links(LinkTable& table);
void add_normalization_links(LinkTable& table);
void add_sampling_links(LinkTable& table);
/// All of them.
const LinkTable& link_table();

}  // namespace kusari::golden
