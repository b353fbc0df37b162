"""PyTorch's RetinaNet and EfficientDet-D0, for peer_torch.py: torchvision's parts where it has them, targets made before."""
import torch
import torch.nn.functional as F
import torchvision
from torch import nn
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.models.detection.backbone_utils import resnet_fpn_backbone
from torchvision.models.detection.retinanet import RetinaNet
from torchvision.models.detection._utils import BoxCoder
from torchvision.models.detection.image_list import ImageList
from torchvision.ops.feature_pyramid_network import LastLevelP6P7

CLASSES, SIZE = 80, 300


def by_anchor(maps, numbers):
    """(N, A * numbers, H, W) of each level as one (N, anchors, numbers)."""
    return torch.cat([m.permute(0, 2, 3, 1).reshape(m.shape[0], -1, numbers) for m in maps], 1)


class RetinaNetOutputs(nn.Module):
    """What torchvision's detector computes between its transforms and its losses."""

    def __init__(self):
        super().__init__()
        body = resnet_fpn_backbone(backbone_name="resnet18", weights=None, norm_layer=nn.BatchNorm2d,
                                   trainable_layers=5, returned_layers=[2, 3, 4],
                                   extra_blocks=LastLevelP6P7(256, 256))
        self.detector = RetinaNet(body, CLASSES)

    def forward(self, x):
        features = list(self.detector.backbone(x).values())
        outputs = self.detector.head(features)
        return outputs["bbox_regression"], outputs["cls_logits"]


def slow_norm(channels):
    return nn.BatchNorm2d(channels, eps=1e-3, momentum=0.01)


class Separable(nn.Sequential):
    def __init__(self, channels, out):
        super().__init__(nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False),
                         nn.Conv2d(channels, out, 1))


class Node(nn.Module):
    def __init__(self, inputs, channels):
        super().__init__()
        self.w = nn.Parameter(torch.ones(inputs))
        self.conv, self.norm = Separable(channels, channels), slow_norm(channels)

    def forward(self, *maps):
        w = F.relu(self.w)
        w = w / (w.sum() + 1e-4)
        return self.norm(self.conv(F.silu(sum(w[i] * m for i, m in enumerate(maps)))))


def enlarged(x, like):
    return F.interpolate(x, size=like.shape[-2:], mode="nearest")


def halved(x):
    return F.max_pool2d(x, 3, 2, 1)


class Cell(nn.Module):
    def __init__(self, channels, in_channels=()):
        super().__init__()

        def projections(numbers):
            return nn.ModuleList(nn.Sequential(nn.Conv2d(c, channels, 1), slow_norm(channels)) for c in numbers)

        self.down, self.up, self.top = (projections(c) for c in (in_channels, in_channels[1:], in_channels[-1:]))
        self.nodes = nn.ModuleList(Node(n, channels) for n in (2, 2, 2, 2, 3, 3, 3, 2))

    def forward(self, maps):
        if self.down:
            p6 = halved(self.top[0](maps[2]))
            down = [p(m) for p, m in zip(self.down, maps)] + [p6, halved(p6)]
            up = [None] + [p(m) for p, m in zip(self.up, maps[1:])] + down[3:]
        else:
            down = up = maps
        between = [None] * 4 + [down[4]]
        for k, i in enumerate((3, 2, 1, 0)):
            between[i] = self.nodes[k](down[i], enlarged(between[i + 1], down[i]))
        out = [between[0]]
        for k, i in enumerate((1, 2, 3)):
            out.append(self.nodes[4 + k](up[i], between[i], halved(out[-1])))
        return out + [self.nodes[7](up[4], halved(out[-1]))]


class Head(nn.Module):
    def __init__(self, channels, out, repeats=3, levels=5):
        super().__init__()
        self.convs = nn.ModuleList(Separable(channels, channels) for _ in range(repeats))
        self.norms = nn.ModuleList(nn.ModuleList(slow_norm(channels) for _ in range(levels)) for _ in range(repeats))
        self.out = Separable(channels, out)

    def forward(self, maps):
        outputs = []
        for level, x in enumerate(maps):
            for conv, norms in zip(self.convs, self.norms):
                x = F.silu(norms[level](conv(x)))
            outputs.append(self.out(x))
        return outputs


class EfficientDetOutputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.stages = torchvision.models.efficientnet_b0().features[:8]
        self.cells = nn.Sequential(Cell(64, (40, 112, 320)), Cell(64), Cell(64))
        self.loc, self.conf = Head(64, 36), Head(64, 9 * CLASSES)
        nn.init.constant_(self.conf.out[1].bias, -4.595)

    def forward(self, x):
        maps = []
        for i, stage in enumerate(self.stages):
            x = stage(x)
            if i in (3, 5, 7):
                maps.append(x)
        maps = self.cells(maps)
        return by_anchor(self.loc(maps), 4), by_anchor(self.conf(maps), CLASSES)


class EfficientDetPredictor:
    """A photo (3, H, W), 0 to 1, to boxes, scores and classes, as torchvision's detectors do it; .network may be compiled."""

    def __init__(self, network, side=512):
        self.network, self.side = network, side
        sizes = tuple(tuple(4 * stride * 2 ** (k / 3) for k in range(3)) for stride in (8, 16, 32, 64, 128))
        grid = AnchorGenerator(sizes, ((0.5, 1.0, 2.0),) * len(sizes))
        maps = [torch.empty(1, 1, side // s, side // s) for s in (8, 16, 32, 64, 128)]
        self.anchors = grid(ImageList(torch.empty(1, 3, side, side), [(side, side)]), maps)[0]
        self.of_level = [9 * m.numel() for m in maps]
        self.coder = BoxCoder((1.0, 1.0, 1.0, 1.0))
        self.mean = torch.tensor([0.485, 0.456, 0.406])[:, None, None]
        self.std = torch.tensor([0.229, 0.224, 0.225])[:, None, None]

    def prepared(self, photo):
        scale = self.side / max(photo.shape[-2:])
        size = [round(n * scale) for n in photo.shape[-2:]]
        image = F.interpolate(((photo - self.mean) / self.std)[None], size, mode="bilinear", align_corners=False)
        x = F.pad(image, (0, self.side - size[1], 0, self.side - size[0]))
        return x.contiguous(memory_format=torch.channels_last), scale

    def __call__(self, photo, thresh=0.05, candidates=1000, nms=0.5, limit=100):
        x, scale = self.prepared(photo)
        locs, confs = self.network(x)
        boxes, scores, classes = [], [], []
        for loc, conf, anchors in zip(*(t.split(self.of_level) for t in (locs[0], confs[0], self.anchors))):
            best = conf.sigmoid().flatten()
            at = torch.where(best > thresh)[0]
            best, order = best[at].topk(min(candidates, at.numel()))
            row = at[order] // CLASSES
            boxes.append(self.coder.decode_single(loc[row], anchors[row]))
            scores.append(best)
            classes.append(at[order] % CLASSES)
        boxes, scores, classes = torch.cat(boxes), torch.cat(scores), torch.cat(classes)
        boxes = torchvision.ops.clip_boxes_to_image(boxes, [round(n * scale) for n in photo.shape[-2:]])
        kept = torchvision.ops.batched_nms(boxes, scores, classes, nms)[:limit]
        return boxes[kept] / scale, scores[kept], classes[kept]


def loss_of(outputs, targets, gamma, beta, weight):
    """EfficientDet's normalizer. targets: codes (N, K, 4), and classes (N, K) with -1 for the background and -2 for none."""
    locs, confs = outputs
    codes, labels = targets
    positive = labels >= 0
    n = 1 + positive.sum()
    truth = F.one_hot(labels.clamp(min=0), CLASSES).to(confs.dtype) * positive[..., None]
    focal = torchvision.ops.sigmoid_focal_loss(confs, truth, gamma=gamma) * (labels != -2)[..., None]
    boxes = F.smooth_l1_loss(locs, codes, beta=beta, reduction="none") * positive[..., None]
    return focal.sum() / n + weight * boxes.sum() / n


def detector(case):
    """The model, and its loss by outputs and targets."""
    if case == "retinanet":
        return RetinaNetOutputs(), lambda y, t: loss_of(y, t, 2.0, 0.11, 1.0)
    return EfficientDetOutputs(), lambda y, t: loss_of(y, t, 1.5, 0.1, 1.25)


def drawn_targets(batch):
    """As many positives as eight boxes in an image have."""
    anchors = sum((-(-SIZE // s)) ** 2 * 9 for s in (8, 16, 32, 64, 128))
    labels = torch.full((batch, anchors), -1)
    for image in labels:
        image[torch.randperm(anchors)[:200]] = torch.randint(0, CLASSES, (200,))
    return torch.randn(batch, anchors, 4) * 0.3, labels
