#include "kusari/framework/links/detection/bifpn.h"

#include <string>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/array/resize_images.h"
#include "kusari/framework/functions/detection/normalized_fusion_silu.h"
#include "kusari/framework/functions/pooling/max_pooling_nd.h"
#include "kusari/framework/links/link_hook.h"

namespace kusari::links {
namespace {

namespace F = functions;

const char* const kBiFPN = "L::BiFPN";

// Of the original implementation.
BatchNormalizationOptions slow_statistics() { return {.decay = 0.99, .eps = 1e-3}; }

Variable enlarged(const Variable& x, const Variable& like) {
  return F::resize_images(x, {like.shape()[2], like.shape()[3]}, {.mode = F::ResizeMode::nearest});
}

// Half as large, rounded up.
Variable halved(const Variable& x) { return F::max_pooling_2d(x, 3, {.stride = 2, .pad = 1, .cover_all = false}); }

LinkList<BiFPNProjection> projections(std::span<const int64_t> in_channels, int64_t channels) {
  LinkList<BiFPNProjection> list;
  for (const int64_t in : in_channels) list.append(BiFPNProjection(in, channels));
  return list;
}

const BiFPNOptions& checked_options(const BiFPNOptions& o, const std::vector<int64_t>& in_channels) {
  argument::positive(kBiFPN, "channels", o.channels);
  argument::count(kBiFPN, "repeats", o.repeats);
  argument::require(o.levels >= 2 && o.levels <= 20, kBiFPN, "levels", o.levels, "be in [2, 20]");
  argument::require(static_cast<int64_t>(in_channels.size()) <= o.levels, kBiFPN, "in_channels.size()",
                    static_cast<int64_t>(in_channels.size()), "be at most levels");
  return o;
}

LinkList<BiFPNNode> make_nodes(const BiFPNOptions& o) {
  LinkList<BiFPNNode> nodes;
  for (int64_t i = 0; i + 1 < o.levels; ++i) nodes.append(BiFPNNode(2, o.channels));
  for (int64_t i = 0; i + 2 < o.levels; ++i) nodes.append(BiFPNNode(3, o.channels));
  nodes.append(BiFPNNode(2, o.channels));
  return nodes;
}

LinkList<BiFPNCell> make_cells(const std::vector<int64_t>& in_channels, const BiFPNOptions& o) {
  argument::require(!in_channels.empty(), kBiFPN, "in_channels.size()", int64_t{0}, "be at least 1");
  checked_options(o, in_channels);
  LinkList<BiFPNCell> cells;
  cells.append(BiFPNCell(in_channels, o));
  for (int64_t i = 1; i < o.repeats; ++i) cells.append(BiFPNCell({}, o));
  return cells;
}

}  // namespace

BiFPNProjection::BiFPNProjection(int64_t in_channels, int64_t channels)
    : conv{*this, "conv", in_channels, channels, 1}, bn{*this, "bn", channels, slow_statistics()} {}

Variable BiFPNProjection::operator()(const Variable& x) const {
  const LinkCall call(*this);
  return bn(conv(x));
}

BiFPNNode::BiFPNNode(int64_t inputs, int64_t channels)
    : w{*this, "w", {argument::count("L::BiFPNNode", "inputs", inputs)}, 1},
      conv{*this, "conv", channels, channels, 3, {.pad = 1}},
      bn{*this, "bn", channels, slow_statistics()} {}

Variable BiFPNNode::operator()(std::span<const Variable> xs) const {
  if (static_cast<int64_t>(xs.size()) != w.shape()[0]) {
    throw ValueError("L::BiFPNNode: there are " + std::to_string(xs.size()) + " maps: it must be " +
                     std::to_string(w.shape()[0]));
  }
  const LinkCall call(*this);
  return bn(conv(F::normalized_fusion_silu(xs, w)));
}

BiFPNCell::BiFPNCell(const std::vector<int64_t>& in_channels, const BiFPNOptions& o)
    : down{*this, "down", projections(in_channels, checked_options(o, in_channels).channels)},
      up{*this, "up", projections(std::span(in_channels).subspan(in_channels.empty() ? 0 : 1), o.channels)},
      top{*this, "top",
          projections(std::span(in_channels)
                          .last(!in_channels.empty() && static_cast<int64_t>(in_channels.size()) < o.levels ? 1 : 0),
                      o.channels)},
      nodes{*this, "nodes", make_nodes(o)},
      levels_{o.levels} {}

Variables BiFPNCell::operator()(std::span<const Variable> xs) const {
  const auto expected = down.empty() ? static_cast<size_t>(levels_) : down.size();
  if (xs.size() != expected) {
    throw ValueError("L::BiFPNCell: there are " + std::to_string(xs.size()) + " maps: it must be " +
                     std::to_string(expected));
  }
  const LinkCall call(*this);
  const auto levels = static_cast<size_t>(levels_), given = xs.size();
  Variables in_down(levels), in_up(levels);
  for (size_t i = 0; i < levels; ++i) {
    if (i < given) {
      in_down[i] = down.empty() ? xs[i] : down[i](xs[i]);
      in_up[i] = up.empty() || i == 0 ? in_down[i] : up[i - 1](xs[i]);
    } else {
      in_down[i] = in_up[i] = halved(i == given && !top.empty() ? top[0](xs[i - 1]) : in_down[i - 1]);
    }
  }
  size_t node = 0;
  Variables between(levels), out(levels);
  between[levels - 1] = in_down[levels - 1];
  for (size_t i = levels - 1; i-- > 0;) {
    const Variable inputs[] = {in_down[i], enlarged(between[i + 1], in_down[i])};
    between[i] = nodes[node++](inputs);
  }
  out[0] = between[0];
  for (size_t i = 1; i + 1 < levels; ++i) {
    const Variable inputs[] = {in_up[i], between[i], halved(out[i - 1])};
    out[i] = nodes[node++](inputs);
  }
  const Variable inputs[] = {in_up[levels - 1], halved(out[levels - 2])};
  out[levels - 1] = nodes[node](inputs);
  return out;
}

BiFPN::BiFPN(const std::vector<int64_t>& in_channels, const Options& options)
    : cells{*this, "cells", make_cells(in_channels, options)} {}

Variables BiFPN::operator()(std::span<const Variable> xs) const {
  const size_t given = cells[0].down.size();
  if (xs.size() != given) {
    throw ValueError(std::string(kBiFPN) + ": there are " + std::to_string(xs.size()) + " maps: it must be " +
                     std::to_string(given));
  }
  const LinkCall call(*this);
  Variables maps;
  for (const Variable& x : xs) maps.push_back(x);
  for (const BiFPNCell& cell : cells) maps = cell({maps.data(), maps.size()});
  return maps;
}

}  // namespace kusari::links
