#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "kusari/framework/links/link.h"
#include "kusari/tests/golden_runner/args.h"
#include "kusari/tests/golden_runner/functions.h"

namespace kusari::golden {

/// A link with the ways in which a case uses it.
struct LinkUnderTest {
  std::unique_ptr<Link> link;
  std::function<Variables(Args&)> call;
  std::function<Variable(const std::string&)> state;  ///< an attribute by Chainer's name
};

/// `call(link, args)` calls it; `state(link, name)` reads an attribute.
template <class T, class Call, class State>
LinkUnderTest link_under_test(T link, Call call, State state) {
  auto owner = std::make_unique<T>(std::move(link));
  T* const raw = owner.get();
  return {std::move(owner), [raw, call](Args& args) { return collect(call(*raw, args)); },
          [raw, state](const std::string& name) { return state(*raw, name); }};
}
template <class T, class Call>
LinkUnderTest link_under_test(T link, Call call) {
  return link_under_test(std::move(link), call, [](T&, const std::string& name) -> Variable {
    throw std::runtime_error("the runner knows no attribute " + name);
  });
}

/// Makes a link from the arguments of Chainer's constructor.
using LinkFactory = std::function<LinkUnderTest(Args& ctor)>;
const std::map<std::string, LinkFactory>& link_table();

}  // namespace kusari::golden
