#!/usr/bin/env python3
"""Writes networks.json: what torchvision's RetinaNet, SSD300 and Faster R-CNN make of weights, images and boxes that tests make too.

    make_networks.py OUTPUT

needs torch and torchvision (made with 2.15 and 0.29); all is computed in float64. The numbers of an array of a name
are those of SplitMix64 from the CRC-32 of the name on: see tests/links/detection/drawn_weights.h, which has the same.
"""
import json
import sys
import zlib

import numpy as np
import torch
import torchvision
from torchvision.models.detection import faster_rcnn, retinanet, ssd
from torchvision.models.detection.anchor_utils import AnchorGenerator, DefaultBoxGenerator
from torchvision.models.detection.backbone_utils import resnet_fpn_backbone
from torchvision.models.detection.image_list import ImageList
from torchvision.ops.feature_pyramid_network import LastLevelP6P7

# What gives codes of boxes and scores of classes.
LAST_LAYERS = ["/out/", "/multibox/", "/rpn/loc/", "/rpn/conf/", "/head/loc/", "/head/conf/"]

# Kusari's order of the numbers of a box, as places in torchvision's.
YXHW = [1, 0, 3, 2]


def uniform(name, shape, low, high):
    n = int(np.prod(shape))
    with np.errstate(over="ignore"):
        z = np.uint64(zlib.crc32(name.encode())) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    u = (z >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return (low + (high - low) * u).astype(np.float32).astype(np.float64).reshape(shape)


def drawn(path, shape):
    """The parameter or statistic of that path in Kusari's model."""
    kind = path.rsplit("/", 1)[1]
    if kind == "W":
        bound = (6 / np.prod(shape[1:])) ** 0.5 * (0.05 if any(last in path for last in LAST_LAYERS) else 1)
        return uniform(path, shape, -bound, bound)
    if kind == "gamma":
        return uniform(path, shape, 0.4, 0.6)
    if kind == "avg_var":
        return uniform(path, shape, 1.0, 1.5)
    if kind == "scale":
        return uniform(path, shape, 15, 25)
    return uniform(path, shape, -0.1, 0.1)


def tensor(array):
    return torch.tensor(np.asarray(array), dtype=torch.float64)


class Loader:
    """Copies drawn numbers into a model, and finds the gradients again."""

    def __init__(self):
        self.parameters = {}  # path: (parameter, permutation of the numbers of boxes)

    def fill(self, path, parameter, boxes=False):
        values = drawn(path, tuple(parameter.shape))
        with torch.no_grad():
            parameter.copy_(tensor(self.permuted(values) if boxes else values))
        self.parameters[path] = (parameter, boxes)

    @staticmethod
    def permuted(values):  # its own inverse
        return values.reshape(-1, 4, *values.shape[1:])[:, YXHW].reshape(values.shape)

    def conv(self, path, conv, boxes=False):
        self.fill(path + "/W", conv.weight, boxes)
        if conv.bias is not None:
            self.fill(path + "/b", conv.bias, boxes)

    def bn(self, path, bn):
        bn.eps = 2e-5
        self.fill(path + "/gamma", bn.weight)
        self.fill(path + "/beta", bn.bias)
        with torch.no_grad():
            bn.running_mean.copy_(tensor(drawn(path + "/avg_mean", tuple(bn.weight.shape))))
            bn.running_var.copy_(tensor(drawn(path + "/avg_var", tuple(bn.weight.shape))))

    def gradients(self):
        found = {}
        for path, (parameter, boxes) in sorted(self.parameters.items()):
            g = parameter.grad.numpy()
            if boxes:
                g = self.permuted(g)
            weights = uniform("gradient of " + path, g.shape, -1, 1)
            found[path] = [float(np.sqrt((g**2).sum())), float((g * weights).sum())]
        return found


def projections(name, array):
    """Two numbers that nearly all differences change."""
    return [float((array * uniform(f"{name}.{i}", array.shape, -1, 1)).sum()) for i in range(2)]


def boxes_of(kusari):
    return tensor(np.array(kusari, dtype=np.float64).reshape(-1, 4)[:, [1, 0, 3, 2]])


def labels_of(matched, labels):
    """As [anchor, label] of all that are not background."""
    found = []
    for k, j in enumerate(matched.tolist()):
        if j >= 0:
            found.append([k, int(labels[j])])
        elif j == -2:
            found.append([k, -2])
    return found


def detections(result, label_shift=0):
    return [
        {
            "bbox": r["boxes"][:, [1, 0, 3, 2]].tolist(),
            "label": (r["labels"] - label_shift).tolist(),
            "score": r["scores"].tolist(),
        }
        for r in result
    ]


def found_by(model, x):
    """What a RetinaNet finds with a threshold that 300 scores reach."""
    model.eval()
    with torch.no_grad():
        features = list(model.backbone(x).values())
        head = model.head(features)
        size = tuple(x.shape[2:])
        anchors = model.anchor_generator(ImageList(x, [size] * len(x)), features)
        counts = [f.shape[2] * f.shape[3] * 9 for f in features]
        confs = head["cls_logits"].flatten()
        model.score_thresh = float(torch.sigmoid(torch.quantile(confs, 1 - 300 / confs.numel())))
        split = {k: list(v.split(counts, dim=1)) for k, v in head.items()}
        return detections(model.postprocess_detections(split, [list(a.split(counts)) for a in anchors], [size] * len(x)))


def load_resnet(load, resnet, depth):
    load.conv("/extractor/conv1", resnet.conv1)
    load.bn("/extractor/bn1", resnet.bn1)
    for stage in range(4):
        for i, block in enumerate(getattr(resnet, f"layer{stage + 1}")):
            path = f"/extractor/res{stage + 2}/" + ("a" if i == 0 else f"b{i}")
            convs = 3 if depth >= 50 else 2
            for k in range(1, convs + 1):
                load.conv(f"{path}/conv{k}", getattr(block, f"conv{k}"))
                load.bn(f"{path}/bn{k}", getattr(block, f"bn{k}"))
            if block.downsample is not None:
                load.conv(f"{path}/conv{convs + 1}", block.downsample[0])
                load.bn(f"{path}/bn{convs + 1}", block.downsample[1])


def retinanet_case(depth, classes):
    body = resnet_fpn_backbone(backbone_name=f"resnet{depth}", weights=None, norm_layer=torch.nn.BatchNorm2d,
                               trainable_layers=5, returned_layers=[2, 3, 4], extra_blocks=LastLevelP6P7(256, 256))
    model = retinanet.RetinaNet(body, classes).double()
    load = Loader()
    load_resnet(load, model.backbone.body, depth)
    fpn = model.backbone.fpn
    for i in range(3):
        load.conv(f"/fpn/inner/{i}", fpn.inner_blocks[i][0])
        load.conv(f"/fpn/outer/{i}", fpn.layer_blocks[i][0])
    load.conv("/fpn/above/0", fpn.extra_blocks.p6)
    load.conv("/fpn/above/1", fpn.extra_blocks.p7)
    for name, head, out in (("conf", model.head.classification_head, "cls_logits"),
                            ("loc", model.head.regression_head, "bbox_reg")):
        for i in range(4):
            load.conv(f"/{name}/convs/{i}", head.conv[i][0])
        load.conv(f"/{name}/out", getattr(head, out), boxes=name == "loc")

    height, width = 96, 128
    bbox = [[[10, 20, 60, 90], [30, 5, 90, 40], [50, 60, 80, 120]], []]
    label = [[0, classes - 1, 1], []]
    x = tensor(uniform("x", (2, 3, height, width), -2, 2))
    found = found_by(model, x)  # before training moves the running statistics
    model.train()
    features = list(model.backbone(x).values())
    head = model.head(features)
    images = ImageList(x, [(height, width)] * 2)
    anchors = model.anchor_generator(images, features)
    targets = [{"boxes": boxes_of(b), "labels": torch.tensor(l, dtype=torch.int64)} for b, l in zip(bbox, label)]
    losses = model.compute_loss(targets, head, anchors)
    (losses["classification"] + losses["bbox_regression"]).backward()
    quality = torchvision.ops.box_iou(targets[0]["boxes"], anchors[0])
    locs = head["bbox_regression"].detach().numpy()[..., YXHW]
    case = {
        "depth": depth,
        "classes": classes,
        "height": height,
        "width": width,
        "bbox": bbox,
        "label": label,
        "anchors": projections("anchors", anchors[0].numpy()[:, [1, 0, 3, 2]]),
        "labels": labels_of(model.proposal_matcher(quality), label[0]),
        "locs": projections("locs", locs),
        "confs": projections("confs", head["cls_logits"].detach().numpy()),
        "loss/conf": losses["classification"].item(),
        "loss/loc": losses["bbox_regression"].item(),
        "gradients": load.gradients(),
        "score_thresh": model.score_thresh,
        "found": found,
    }
    return case


def ssd_case(classes):
    model = ssd.ssd300_vgg16(weights=None, weights_backbone=None, num_classes=classes + 1, trainable_backbone_layers=5)
    model = model.double()
    load = Loader()
    vgg = model.backbone
    convs = [m for m in vgg.features if isinstance(m, torch.nn.Conv2d)]
    names = ["1_1", "1_2", "2_1", "2_2", "3_1", "3_2", "3_3", "4_1", "4_2", "4_3", "5_1", "5_2", "5_3", "6", "7"]
    convs += [m for m in vgg.extra[0].modules() if isinstance(m, torch.nn.Conv2d)]
    for k in range(4):
        names += [f"{8 + k}_1", f"{8 + k}_2"]
        convs += [m for m in vgg.extra[k + 1] if isinstance(m, torch.nn.Conv2d)]
    for name, conv in zip(names, convs, strict=True):
        load.conv(f"/extractor/conv{name}", conv)
    load.fill("/extractor/norm4/scale", vgg.scale_weight)
    for name, head in (("loc", model.head.regression_head), ("conf", model.head.classification_head)):
        for i, conv in enumerate(head.module_list):
            load.conv(f"/multibox/{name}/{i}", conv, boxes=name == "loc")

    # The sizes of the paper, which are other ones.
    sizes = [30, 60, 111, 162, 213, 264, 315]
    model.anchor_generator = DefaultBoxGenerator([[2], [2, 3], [2, 3], [2, 3], [2], [2]], scales=[s / 300 for s in sizes],
                                                 steps=[8, 16, 32, 64, 100, 300], clip=False)
    bbox = [[[40, 30, 200, 190], [120, 160, 290, 280]]]
    label = [[1, classes - 1]]
    x = tensor(uniform("x", (1, 3, 300, 300), -2, 2))
    model.train()
    features = list(model.backbone(x).values())
    head = model.head(features)
    anchors = [a.double() for a in model.anchor_generator(ImageList(x, [(300, 300)]), features)]
    targets = [{"boxes": boxes_of(b), "labels": torch.tensor(l, dtype=torch.int64) + 1} for b, l in zip(bbox, label)]
    matched = [model.proposal_matcher(torchvision.ops.box_iou(t["boxes"], a)) for t, a in zip(targets, anchors)]
    losses = model.compute_loss(targets, head, anchors, matched)
    (losses["classification"] + losses["bbox_regression"]).backward()
    case = {
        "classes": classes,
        "bbox": bbox,
        "label": label,
        "anchors": projections("anchors", anchors[0].numpy()[:, [1, 0, 3, 2]]),
        "labels": labels_of(matched[0], label[0]),
        "locs": projections("locs", head["bbox_regression"].detach().numpy()[..., YXHW]),
        "confs": projections("confs", head["cls_logits"].detach().numpy()),
        "loss/conf": losses["classification"].item(),
        "loss/loc": losses["bbox_regression"].item(),
        "gradients": load.gradients(),
    }
    model.eval()
    with torch.no_grad():
        scores = torch.softmax(head["cls_logits"], dim=-1)[..., 1:].flatten()
        model.score_thresh = float(torch.quantile(scores, 1 - 300 / scores.numel()))
        model.topk_candidates, model.detections_per_img = 8732, 8732
        found = model.postprocess_detections(head, anchors, [(300, 300)])
    case["score_thresh"], case["found"] = model.score_thresh, detections(found, 1)
    return case


def faster_rcnn_case(depth, classes):
    body = resnet_fpn_backbone(backbone_name=f"resnet{depth}", weights=None, norm_layer=torch.nn.BatchNorm2d,
                               trainable_layers=5)
    everything = 10**9
    model = faster_rcnn.FasterRCNN(body, classes + 1, rpn_batch_size_per_image=everything,
                                   box_batch_size_per_image=everything, rpn_pre_nms_top_n_train=60,
                                   rpn_post_nms_top_n_train=100, rpn_pre_nms_top_n_test=50,
                                   rpn_post_nms_top_n_test=80).double()
    load = Loader()
    load_resnet(load, model.backbone.body, depth)
    fpn = model.backbone.fpn
    for i in range(4):
        load.conv(f"/fpn/inner/{i}", fpn.inner_blocks[i][0])
        load.conv(f"/fpn/outer/{i}", fpn.layer_blocks[i][0])
    load.conv("/rpn/conv", model.rpn.head.conv[0][0])
    load.conv("/rpn/loc", model.rpn.head.bbox_pred, boxes=True)
    load.conv("/rpn/conf", model.rpn.head.cls_logits)
    heads = model.roi_heads
    load.conv("/head/fc6", heads.box_head.fc6)
    load.conv("/head/fc7", heads.box_head.fc7)
    load.conv("/head/loc", heads.box_predictor.bbox_pred, boxes=True)
    load.conv("/head/conf", heads.box_predictor.cls_score)

    height, width = 128, 160
    bbox = [[[10, 20, 60, 90], [30, 5, 120, 40], [50, 60, 80, 150]], []]
    label = [[0, classes - 1, 1], []]
    x = tensor(uniform("x", (2, 3, height, width), -2, 2))
    sizes = [(height, width), (height - 20, width - 30)]  # the second fills a part
    images = ImageList(x, sizes)

    model.eval()
    with torch.no_grad():
        features = model.backbone(x)
        proposals, _ = model.rpn(images, features)
        logits, codes = heads.box_predictor(heads.box_head(heads.box_roi_pool(features, proposals, sizes)))
        scores = torch.softmax(logits, -1)[:, 1:].flatten()
        heads.score_thresh = float(torch.quantile(scores, 1 - 150 / scores.numel()))
        boxes, scores, labels = heads.postprocess_detections(logits, codes, proposals, sizes)
    found = detections([dict(boxes=b, scores=s, labels=l) for b, s, l in zip(boxes, scores, labels)], 1)

    model.train()
    images = ImageList(x, [(height, width)] * 2)
    targets = [{"boxes": boxes_of(b), "labels": torch.tensor(l, dtype=torch.int64) + 1} for b, l in zip(bbox, label)]
    features = model.backbone(x)
    trained, first = model.rpn(images, features, targets)
    _, second = heads(features, trained, images.image_sizes, targets)
    sum([*first.values(), *second.values()]).backward()
    anchors = model.rpn.anchor_generator(images, list(features.values()))
    labels, _ = model.rpn.assign_targets_to_anchors(anchors, targets)
    order = [1, 0, 3, 2]
    return {
        "depth": depth,
        "classes": classes,
        "height": height,
        "width": width,
        "sizes": sizes,
        "bbox": bbox,
        "label": label,
        "anchors": projections("anchors", anchors[0].numpy()[:, order]),
        "labels": [[k, 0 if l == 1 else -2] for k, l in enumerate(labels[0].tolist()) if l != 0],
        "regions": [p[:, order].tolist() for p in proposals],
        "loss/rpn_conf": first["loss_objectness"].item(),
        "loss/rpn_loc": first["loss_rpn_box_reg"].item(),
        "loss/conf": second["loss_classifier"].item(),
        "loss/loc": second["loss_box_reg"].item(),
        "gradients": load.gradients(),
        "score_thresh": heads.score_thresh,
        "found": found,
    }


def main():
    torch.manual_seed(0)
    cases = {
        "retinanet": [retinanet_case(18, 3), retinanet_case(50, 5)],
        "ssd300": [ssd_case(4)],
        "faster_rcnn": [faster_rcnn_case(18, 3)],
    }
    with open(sys.argv[1], "w") as file:
        json.dump(cases, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
