#include "kusari/framework/links/stray_links.h"

#include <array>
#include <optional>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "kusari/framework/autograd/gradient_check.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/initializers/constant.h"
#include "kusari/framework/links/any_link.h"
#include "kusari/framework/links/chain_list.h"
#include "kusari/framework/links/model/classifier.h"
#include "kusari/framework/links/sequential.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/links/models.h"
#include "kusari/tests/log_capture.h"

// Members that were to be children.
namespace kusari::testing {
namespace {

constexpr const char* kWarning = "parameters get gradients but are neither trained nor saved";

Variable three_ones() { return Variable(ones({2, 3}), false); }

template <class Model>
std::string log_of_step(Optimizer& optimizer, Model& model) {
  return stderr_of([&] { optimizer.update([&] { return functions::sum(model(three_ones())); }); });
}
template <class Model>
std::string log_of_step(Model&& model) {
  optimizers::SGD optimizer(0.1);
  optimizer.setup(model);
  return log_of_step(optimizer, model);
}

/// SGD's whole warning of such members.
std::string warning_of(const std::string& members) {
  return std::string("[kusari warning] SGD: ") + kWarning +
         ", because plain members are unknown to the model: " + members +
         "; if that is meant, keep gradients from them with disable_update() or no_backprop_mode()\n";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class Forgetful : public Chain {
 public:
  explicit Forgetful(int64_t in_size = 3) : a{in_size, 8}, b{*this, "b", 8, 2} {}
  Variable operator()(const Variable& x) { return b(a(x)); }

  L::Linear a;
  Child<L::Linear> b;
};

// Nothing tells the size of its object but its holder.
class ForgetsAll : public Chain {
 public:
  Variable operator()(const Variable& x) const { return b(a(x)); }

 private:
  L::Linear a{3, 8}, b{8, 3};
};

template <class Member>
class Holding : public Chain {
 public:
  template <class... Args>
  explicit Holding(Args&&... args) : child{*this, "child", std::forward<Args>(args)...}, last{*this, "last", 3, 2} {}
  Variable operator()(const Variable& x) { return last(child(x)); }

  Child<Member> child;
  Child<L::Linear> last;
};

TEST_CASE("a link that is a plain member is noticed when it gets a gradient") {
  Forgetful model;
  optimizers::SGD optimizer(0.1);
  optimizer.setup(model);
  CHECK(log_of_step(optimizer, model) ==
        warning_of("a Linear in Forgetful (W (8, 3), b (8,)), to be declared as Child<Linear>"));
  CHECK(log_of_step(optimizer, model).empty());  // once
  Forgetful moved = std::move(model);
  CHECK(log_of_step(optimizer, moved).empty());
  CHECK(has(log_of_step(Forgetful(kInfer)), "W (8, 3)"));  // as the first batch decides
  SUBCASE("in a loop of one's own") {
    Forgetful other;
    optimizers::SGD of_other(0.1);
    of_other.setup(other);
    CHECK(has(stderr_of([&] {
                other.cleargrads();
                functions::sum(other(three_ones())).backward();
                of_other.update();
              }),
              kWarning));
  }
}

TEST_CASE("the loss of another model is noticed, once") {
  L::Linear model(3, 2), other(3, 2);
  optimizers::SGD optimizer(0.1);
  optimizer.setup(model);
  const Array before = model.W.array().copy();
  CHECK(log_of_step(optimizer, other) ==
        "[kusari warning] SGD::update: the loss reaches none of the 2 parameters of the target, Linear: all their "
        "gradients are zero; is it the loss of another model, or are all of them frozen?\n");
  CHECK((model.W.array() == before).all());
  CHECK(log_of_step(optimizer, other).empty());
  optimizer.setup(model);
  CHECK(log_of_step(optimizer, model).empty());
  CHECK(!log_of_step(optimizer, other).empty());
  model.b.array();
  optimizer.setup(model);
  CHECK(stderr_of([&] { optimizer.update([&] { return functions::sum(model.b * model.b); }); }).empty());
}

TEST_CASE("a plain member is noticed wherever its holder is") {
  CHECK(has(log_of_step(ForgetsAll()),
            "a Linear in ForgetsAll (W (8, 3), b (8,)), to be declared as Child<Linear>; a "
            "Linear in ForgetsAll (W (3, 8), b (3,)), to be"));
  CHECK(has(log_of_step(Holding<ForgetsAll>()), kWarning));
  CHECK(has(log_of_step(Sequential(L::Linear(3, 3), ForgetsAll())), kWarning));
  CHECK(has(log_of_step(Sequential(L::Linear(3, 3), Sequential(ForgetsAll()))), kWarning));
  CHECK(has(log_of_step(AnyLink(ForgetsAll())), kWarning));
  CHECK(has(log_of_step(AnyLink(AnyLink(ForgetsAll()))), kWarning));
  CHECK(has(log_of_step(Holding<AnyLink>(ForgetsAll())), kWarning));
  class List : public ChainList<ForgetsAll> {
   public:
    Variable operator()(const Variable& x) { return (*this)[1]((*this)[0](x)); }
  };
  List list;
  list.append(ForgetsAll());
  list.append(ForgetsAll());
  CHECK(has(log_of_step(list), kWarning));

  auto classifier = L::classifier(Forgetful());
  optimizers::SGD optimizer(0.1);
  optimizer.setup(classifier);
  const Variable t(array<int32_t>({0, 1}), false);
  CHECK(has(stderr_of([&] { optimizer.update(classifier, three_ones(), t); }), "a Linear in Forgetful"));
}

TEST_CASE("plain members of other forms are noticed") {
  class Net : public Chain {
   public:
    Net() : last{*this, "last", 3, 2} {}
    Variable operator()(const Variable& x) { return last(block(several[1](several[0]((*maybe)(x))))); }
    std::array<L::Linear, 2> several{L::Linear(3, 3), L::Linear(3, 3)};
    std::optional<L::Linear> maybe{std::in_place, 3, 3};
    Sequential block{L::Linear(3, 3)};  // its layers are on the heap
    Child<L::Linear> last;
  };
  const std::string log = log_of_step(Net());
  size_t linears = 0;
  for (size_t at = log.find("a Linear in Net"); at != std::string::npos; at = log.find("a Linear in Net", at + 1)) {
    ++linears;
  }
  CHECK(linears == 3);
  CHECK(has(log, "a Sequential in Net (0/W (3, 3), 0/b (3,)), to be declared as Child<Sequential>"));
  // A block of children is one forgotten link.
  class Outer : public Chain {
   public:
    Outer() : last{*this, "last", 2, 2} {}
    Variable operator()(const Variable& x) { return last(body(x)); }
    TwoLayers body{3};
    Child<L::Linear> last;
  };
  CHECK(has(log_of_step(Outer()),
            ": a TwoLayers in Outer (l1/W (3, 3), l1/b (3,), l2/W (2, 3)), to be declared as "
            "Child<TwoLayers>; if"));
}

class OwnParameter : public Chain {
 public:
  OwnParameter() : w{Shape{3, 3}, initializers::Constant(1)}, last{*this, "last", 3, 2} {}
  Variable operator()(const Variable& x) { return last(functions::matmul(x, w)); }

  Parameter w;
  Child<L::Linear> last;
};

TEST_CASE("a parameter that its link does not know is noticed when it gets a gradient") {
  OwnParameter model;
  optimizers::SGD optimizer(0.1);
  optimizer.setup(model);
  CHECK(log_of_step(optimizer, model) ==
        warning_of("a Parameter of shape (3, 3) in OwnParameter, to be made with {*this, \"name\", ..}"));
  CHECK(log_of_step(optimizer, model).empty());  // once
  CHECK(has(log_of_step(Sequential(L::Linear(3, 3), OwnParameter())), "a Parameter of shape (3, 3) in OwnParameter"));
  CHECK(has(log_of_step(AnyLink(OwnParameter())), "a Parameter of shape (3, 3) in OwnParameter"));
  // In a forgotten link there is something else to mend as well.
  class Outer : public Chain {
   public:
    Outer() : last{*this, "last", 2, 2} {}
    Variable operator()(const Variable& x) { return last(body(x)); }
    OwnParameter body;
    Child<L::Linear> last;
  };
  const std::string log = log_of_step(Outer());
  CHECK(
      has(log, "a OwnParameter in Outer (last/W (2, 3), last/b (2,)), to be declared as Child<OwnParameter>; a Param"));

  SUBCASE("a frozen one is meant") {
    OwnParameter frozen;
    frozen.w.disable_update();
    CHECK(log_of_step(frozen).empty());
  }
  SUBCASE("so is one outside the model, for a rule of one's own") {
    TwoLayers two(3);
    Parameter scale(ones({2, 3}));
    optimizers::SGD of_two(0.1);
    of_two.setup(two);
    CHECK(stderr_of([&] { of_two.update([&] { return functions::sum(two(three_ones() * scale)); }); }).empty());
    CHECK(scale.has_gradient());
  }
  SUBCASE("one that goes is forgotten") {
    class Net : public Chain {
     public:
      Net() : last{*this, "last", 3, 2} {}
      Variable operator()(const Variable& x) { return last(w ? x * *w : x); }
      std::optional<Parameter> w{std::in_place, ones({2, 3})};
      Child<L::Linear> last;
    } net;
    net.w->disable_update();
    optimizers::SGD of_net(0.1);
    of_net.setup(net);
    CHECK(log_of_step(of_net, net).empty());
    const uint64_t version = detail::structure_version();
    net.w.reset();
    CHECK(detail::structure_version() != version);
    CHECK(log_of_step(of_net, net).empty());
  }
}

TEST_CASE("nobody is told of links that are where they belong") {
  CHECK(log_of_step(TwoLayers(3)).empty());
  CHECK(log_of_step(Holding<Sequential>(L::Linear(3, 3), L::Linear(3, 3))).empty());
  CHECK(log_of_step(Sequential(L::Linear(3, 3), AnyLink(Sequential(L::Linear(3, 3))))).empty());

  SUBCASE("a frozen member") {
    Forgetful model;
    model.a.disable_update();
    CHECK(log_of_step(model).empty());
  }
  SUBCASE("a member that gets no gradient") {
    Forgetful model;
    optimizers::SGD optimizer(0.1);
    optimizer.setup(model);
    CHECK(stderr_of([&] {
            optimizer.update([&] {
              const Variable h = [&] {
                const auto guard = no_backprop_mode();
                return model.a(three_ones());
              }();
              return functions::sum(model.b(h));
            });
          }).empty());
  }
  SUBCASE("a member that was moved away") {
    Forgetful model;
    L::Linear taken = std::move(model.a);
    optimizers::SGD optimizer(0.1);
    optimizer.setup(model);
    CHECK(stderr_of([&] { optimizer.update([&] { return functions::sum(model.b(taken(three_ones()))); }); }).empty());
  }
  SUBCASE("two optimizers with a model each, in one object") {
    struct Gan : Chain {
      TwoLayers gen{3}, dis{2};
      Variable operator()(const Variable& x) { return dis(gen(x)); }
    } gan;
    optimizers::SGD gen_optimizer(0.1), dis_optimizer(0.1);
    gen_optimizer.setup(gan.gen);
    dis_optimizer.setup(gan.dis);
    CHECK(log_of_step(gen_optimizer, gan).empty());
    CHECK(log_of_step(dis_optimizer, gan).empty());
  }
  SUBCASE("a part of a model, and a model of somebody else's") {
    TwoLayers model(3);
    L::Linear critic(2, 1);
    optimizers::SGD optimizer(0.1);
    optimizer.setup(model.l2);
    CHECK(stderr_of([&] { optimizer.update([&] { return functions::sum(critic(model(three_ones()))); }); }).empty());
  }
  SUBCASE("without an optimizer") {
    Forgetful model;
    CHECK(stderr_of([&] {
            functions::sum(model(three_ones())).backward();
            gradient_check::check_backward([&](const Variable& x) { return functions::sum(model(x)); },
                                           {three_ones().array()}, {},
                                           {.atol = 1e-2, .rtol = 1e-2, .dtype = std::nullopt});
          }).empty());
  }
}

TEST_CASE("a parameter that came after setup is noticed when it gets a gradient") {
  Sequential model(L::Linear(3, 3));
  optimizers::SGD optimizer(0.1);
  optimizer.setup(model);
  model.append(L::Linear(3, 2));
  CHECK(log_of_step(optimizer, model) ==
        "[kusari warning] SGD: parameters have gradients but no update rule: /1/W (2, 3), /1/b (2,); they came to the "
        "model after setup: call setup(model) again, or disable_update() if they are to stay\n");
  CHECK(log_of_step(optimizer, model).empty());
  Sequential frozen(L::Linear(3, 3));
  optimizer.setup(frozen);
  frozen.append(L::Linear(3, 2));
  frozen.get<L::Linear>(1)->disable_update();
  CHECK(log_of_step(optimizer, frozen).empty());
}

}  // namespace
}  // namespace kusari::testing
