#include "kusari/framework/links/link_hook.h"

#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/links/any_link.h"
#include "kusari/framework/links/connection/bias.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/model/classifier.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/framework/links/sequential.h"
#include "kusari/tests/links/models.h"

namespace kusari::testing {
namespace {

using Log = std::vector<std::string>;

/// Notes what it sees as "event tag".
class Notes final : public LinkHook {
 public:
  Notes(std::string tag, Log* log) : tag_{std::move(tag)}, log_{log} {}
  const char* name() const override { return "Notes"; }
  void added(Link* link) override { log_->push_back((link != nullptr ? "added " : "installed ") + tag_); }
  void deleted(Link* link) override { log_->push_back((link != nullptr ? "deleted " : "removed ") + tag_); }
  void forward_preprocess(Link& link) override {
    log_->push_back("before " + tag_);
    seen = &link;
  }
  void forward_postprocess(Link&) override { log_->push_back("after " + tag_); }

  Link* seen = nullptr;

 private:
  std::string tag_;
  Log* log_;
};

/// A link that calls itself, another one, and throws, as it is told.
class Caller : public Chain {
 public:
  Caller() : child{*this, "child", 2, 2} {}
  Variable operator()(const Variable& x) { return (*this)(x, 1); }
  Variable operator()(const Variable& x, int) {
    const LinkCall call(*this);
    if (again) {
      again = false;
      return (*this)(x);
    }
    if (fails) throw std::runtime_error("no forward");
    return child(x);
  }
  Child<L::Linear> child;
  bool again = false;
  bool fails = false;
};

Variable batch() { return Variable(ones({3, 2})); }

TEST_CASE("a link's hooks see its calls, the last one innermost") {
  Log log;
  L::Linear link(2, 2);
  CHECK(&link.add_hook(Notes("a", &log)) == &link);
  link.add_hook(Notes("b", &log), "second");
  CHECK(log == Log{"added a", "added b"});
  REQUIRE(link.local_link_hooks().size() == 2);
  CHECK(link.local_link_hooks()[0].first == "Notes");
  CHECK(link.local_link_hooks()[1].first == "second");
  log.clear();
  link(batch());
  CHECK(log == Log{"before a", "before b", "after b", "after a"});
  CHECK(static_cast<Notes*>(link.local_link_hooks()[0].second)->seen == &link);

  CHECK_THROWS_WITH_AS(link.add_hook(Notes("c", &log)), "Link::add_hook: the link has a hook named 'Notes'", KeyError);
  log.clear();
  link.delete_hook("Notes");
  link(batch());
  CHECK(log == Log{"deleted a", "before b", "after b"});
  CHECK_THROWS_WITH_AS(link.delete_hook("Notes"), "Link::delete_hook: no hook named 'Notes'; there are second",
                       KeyError);
  L::Linear other(2, 2);
  CHECK_THROWS_WITH_AS(other.delete_hook("x"), "Link::delete_hook: no hook named 'x'; there are none", KeyError);
}

TEST_CASE("the hooks of a thread see all links") {
  Log log;
  Caller link;
  link.child.add_hook(Notes("own", &log));
  log.clear();
  Notes all("all", &log);
  {
    const ScopedLinkHook scope(all);
    CHECK_THROWS_WITH_AS(ScopedLinkHook{all}, "ScopedLinkHook: this hook is installed already", StateError);
    link(batch());
    std::thread([] {
      L::Linear elsewhere(2, 2);
      elsewhere(batch());
    }).join();
  }
  CHECK(log == Log{"installed all", "before all", "before all", "before own", "after own", "after all", "after all",
                   "removed all"});
  log.clear();
  link(batch());
  CHECK(log == Log{"before own", "after own"});
}

TEST_CASE("a link that calls itself is called once") {
  Log log;
  Caller link;
  link.add_hook(Notes("a", &log));
  log.clear();
  link.again = true;
  link(batch());
  CHECK(log == Log{"before a", "after a"});
}

/// Throws where it is told.
class Failing final : public LinkHook {
 public:
  explicit Failing(std::string where) : where_{std::move(where)} {}
  const char* name() const override { return "Failing"; }
  void added(Link*) override { fail("added"); }
  void forward_preprocess(Link&) override { fail("before"); }
  void forward_postprocess(Link&) override { fail("after"); }

 private:
  void fail(const char* where) const {
    if (where_ == where) throw std::runtime_error(where_);
  }
  std::string where_;
};

TEST_CASE("hooks see the end of a call that an exception ends") {
  Log log;
  Caller link;
  link.add_hook(Notes("a", &log));
  link.add_hook(Failing("nowhere"));
  link.add_hook(Notes("b", &log), "b");
  link.fails = true;
  log.clear();
  CHECK_THROWS_WITH(link(batch()), "no forward");
  CHECK(log == Log{"before a", "before b", "after b", "after a"});

  SUBCASE("a hook fails before") {
    link.fails = false;
    link.delete_hook("Failing");
    link.delete_hook("b");
    link.add_hook(Failing("before"));
    link.add_hook(Notes("c", &log), "c");
    log.clear();
    CHECK_THROWS_WITH(link(batch()), "before");
    CHECK(log == Log{"before a", "after a"});
    link.delete_hook("Failing");
    log.clear();
    link(batch());
    CHECK(log == Log{"before a", "before c", "after c", "after a"});
  }
  SUBCASE("a hook fails after") {
    link.delete_hook("Failing");
    link.add_hook(Failing("after"));
    CHECK_THROWS_WITH(link(batch()), "no forward");
    link.fails = false;
    log.clear();
    CHECK_THROWS_WITH(link(batch()), "after");
    CHECK(log == Log{"before a", "before b", "after b", "after a"});
  }
}

TEST_CASE("a hook that refuses is not added") {
  L::Linear link(2, 2);
  CHECK_THROWS_WITH(link.add_hook(Failing("added")), "added");
  CHECK(link.local_link_hooks().empty());
  Failing hook("added");
  CHECK_THROWS_WITH(ScopedLinkHook{hook}, "added");
  CHECK(kusari::detail::t_link_hooks == nullptr);
}

TEST_CASE("hooks are copied with their link and move with it") {
  Log log;
  L::Linear link(2, 2);
  link.add_hook(Notes("a", &log));
  log.clear();
  L::Linear copied(link);
  REQUIRE(copied.local_link_hooks().size() == 1);
  CHECK(copied.local_link_hooks()[0].second != link.local_link_hooks()[0].second);
  copied(batch());
  CHECK(log == Log{"before a", "after a"});
  link.delete_hook("Notes");
  log.clear();
  link(batch());
  CHECK(log.empty());

  LinkHook* const hook = copied.local_link_hooks()[0].second;
  L::Linear moved(std::move(copied));
  CHECK(moved.local_link_hooks()[0].second == hook);
  CHECK(copied.local_link_hooks().empty());
  L::Linear assigned(2, 2);
  assigned = moved;
  CHECK(assigned.local_link_hooks().size() == 1);
  assigned = link;
  CHECK(assigned.local_link_hooks().empty());
  assigned = std::move(moved);
  CHECK(assigned.local_link_hooks()[0].second == hook);
}

TEST_CASE("hooks of wrapped links, of lists and of classifiers") {
  Log log;
  AnyLink any(L::Linear(4, 2));
  any.add_hook(Notes("any", &log));
  Sequential model(with_hook(L::Linear(2, 4), Notes("first", &log)), functions::relu, std::move(any));
  model.add_hook(Notes("model", &log));
  auto classifier = L::classifier(std::move(model));
  classifier.add_hook(Notes("classifier", &log));
  log.clear();
  classifier(batch(), Variable(zeros({3}, Dtype::int32)));
  CHECK(log == Log{"before classifier", "before model", "before first", "after first", "before any", "after any",
                   "after model", "after classifier"});
}

TEST_CASE("the parameters of a lazy link have their shapes when its hooks are called") {
  struct Shapes final : LinkHook {
    const char* name() const override { return "Shapes"; }
    void forward_preprocess(Link& link) override {
      ++calls;
      CHECK(link.params(false).size() == link.params().size());
    }
    int calls = 0;
  } shapes;
  const ScopedLinkHook scope(shapes);
  L::Linear linear(3);
  linear(batch());
  L::Convolution2D convolution(3, PerAxis(2));
  convolution(Variable(ones({1, 2, 4, 4})));
  L::BatchNormalization bn{kInfer};
  bn(Variable(ones({4, 2})));
  CHECK(shapes.calls == 3);
}

TEST_CASE("members added at run time") {
  Everything model;
  Parameter& scale = model.add_param("scale", Parameter(array<float>({2, 3})));
  Array& steps = model.add_persistent("moved", array<double>({4, 4}));
  CHECK(paths(model) == std::vector<std::string>{"/a", "/scale", "/w", "/body/l1/W", "/body/l1/b", "/body/l2/W"});
  CHECK(&model.param("/scale") == &scale);
  CHECK(scale.name() == "scale");
  CHECK_THROWS_WITH_AS(model.add_param("a", Parameter(ones({1}))), "Link: there is already a member named 'a'",
                       ValueError);
  CHECK_THROWS_WITH_AS(model.add_persistent("scale", Array()), "Link: there is already a member named 'scale'",
                       ValueError);
  CHECK_THROWS_AS(model.add_param("a/b", Parameter(ones({1}))), ValueError);

  Everything copied(model);
  Parameter& own = copied.param("/scale");
  CHECK(&own != &scale);
  CHECK(own.to_vector<float>() == std::vector<float>{2, 3});
  own.array().fill(9);
  CHECK(scale.to_vector<float>() == std::vector<float>{2, 3});
  steps.fill(7);
  copied.copyparams(model, false);
  CHECK(own.to_vector<float>() == std::vector<float>{2, 3});
  const Array numbers = steps;
  model = copied;
  CHECK(&model.param("/scale") == &scale);
  CHECK(numbers.to_vector<double>() == std::vector<double>{4, 4});
  CHECK(steps.to_vector<double>() == std::vector<double>{4, 4});

  Everything moved(std::move(model));
  CHECK(&moved.param("/scale") == &scale);
  const Everything shared = copy(moved);
  scale.array().fill(5);
  CHECK(const_cast<Everything&>(shared).param("/scale").to_vector<float>() == std::vector<float>{5, 5});

  Everything plain;
  moved = plain;
  CHECK(paths(moved) == paths(plain));
  CHECK_THROWS_WITH_AS(moved.remove_member("scale"), "Link::remove_member: no member named 'scale'", KeyError);
  CHECK_THROWS_AS(moved.remove_member("w"), StateError);
  copied.remove_member("scale");
  copied.remove_member("moved");
  CHECK(paths(copied) == paths(plain));
}

}  // namespace
}  // namespace kusari::testing
