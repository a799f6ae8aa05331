"""Which architectures the zoo exports: source, input shapes, exporter and opset of each.

Legacy exports go over opsets 11 to 20; the dynamo exporter writes 18 or newer. Input sizes are reduced where the
architecture allows, to bound time and disk.
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Entry:
    name: str
    source: str  # tv: torchvision.models, seg: its segmentation models, timm, own: zoo_modules
    model: str
    shapes: tuple[tuple[int, ...], ...]
    exporter: str = "legacy"
    opset: int = 17
    options: tuple[tuple[str, object], ...] = ()
    integer_inputs: tuple[tuple[int, int], ...] = ()  # (input index, exclusive upper bound)
    dynamic: tuple[tuple[int, int, str], ...] = ()  # (input index, axis, symbol)
    external_data: bool = False
    keep_batch_norm: bool = False  # the legacy exporter folds it into convolutions unless told not to

    @property
    def file_name(self) -> str:
        return f"{self.name}-{self.exporter}-op{self.opset}.onnx"


def image(size: int, channels: int = 3, batch: int = 1) -> tuple[tuple[int, ...], ...]:
    return ((batch, channels, size, size),)


def both(name: str, source: str, model: str, size: int, opset: int, dynamo_opset: int = 18, **more) -> list[Entry]:
    return [
        Entry(name, source, model, image(size), "legacy", opset, **more),
        Entry(name, source, model, image(size), "dynamo", dynamo_opset, external_data=True, **more),
    ]


def one(name: str, source: str, model: str, size: int, opset: int, **more) -> list[Entry]:
    return [Entry(name, source, model, image(size), "legacy", opset, **more)]


_NO_INIT = (("init_weights", False),)

TORCHVISION = [
    *both("resnet18", "tv", "resnet18", 128, 11),
    *one("resnet50", "tv", "resnet50", 128, 13, keep_batch_norm=True),
    *both("mobilenet_v2", "tv", "mobilenet_v2", 128, 12),
    *both("mobilenet_v3_small", "tv", "mobilenet_v3_small", 128, 14, 20),
    *one("mobilenet_v3_large", "tv", "mobilenet_v3_large", 128, 17, keep_batch_norm=True),
    *both("efficientnet_b0", "tv", "efficientnet_b0", 128, 15),
    *one("efficientnet_v2_s", "tv", "efficientnet_v2_s", 128, 16, keep_batch_norm=True),
    *both("regnet_y_400mf", "tv", "regnet_y_400mf", 128, 18),
    *one("regnet_x_400mf", "tv", "regnet_x_400mf", 128, 19, keep_batch_norm=True),
    *one("convnext_tiny", "tv", "convnext_tiny", 96, 20),
    *one("vit_b_32", "tv", "vit_b_32", 224, 17, options=(("depth", 3),)),
    *one("swin_t", "tv", "swin_t", 224, 16),
    *one("swin_v2_t", "tv", "swin_v2_t", 256, 18),
    *one("inception_v3", "tv", "inception_v3", 299, 12, options=(*_NO_INIT, ("aux_logits", True))),
    *one("googlenet", "tv", "googlenet", 128, 11, options=_NO_INIT),
    *one("densenet121", "tv", "densenet121", 128, 13, keep_batch_norm=True),
    *both("squeezenet1_1", "tv", "squeezenet1_1", 128, 11),
    *both("shufflenet_v2_x1_0", "tv", "shufflenet_v2_x1_0", 128, 11),
    *one("mnasnet1_0", "tv", "mnasnet1_0", 128, 12),
    *one("vgg11_bn", "tv", "vgg11_bn", 64, 14, options=(*_NO_INIT, ("small_head", True))),
    *one("alexnet", "tv", "alexnet", 128, 11, options=(("small_head", True),)),
    *one("resnext50_32x4d", "tv", "resnext50_32x4d", 128, 12),
    *one("lraspp_mobilenet_v3_large", "seg", "lraspp_mobilenet_v3_large", 128, 17),
    *one("deeplabv3_mobilenet_v3_large", "seg", "deeplabv3_mobilenet_v3_large", 128, 16),
    *one("fcn_resnet50", "seg", "fcn_resnet50", 64, 13),
]

TIMM = [
    *both("vit_tiny", "timm", "vit_tiny_patch16_224", 224, 14),
    *both("convnext_atto", "timm", "convnext_atto", 96, 19, 20),
    *one("deit_tiny", "timm", "deit_tiny_patch16_224", 224, 13),
    *both("mobilevit_xs", "timm", "mobilevit_xs", 128, 17),
    *one("mobilevitv2_050", "timm", "mobilevitv2_050", 128, 18),
    *both("ghostnet_100", "timm", "ghostnet_100", 128, 11),
    *one("repvgg_a0", "timm", "repvgg_a0", 96, 13),
    *both("efficientformer_l1", "timm", "efficientformer_l1", 224, 15),
    *one("poolformer_s12", "timm", "poolformer_s12", 128, 16),
    *one("mixer_s16", "timm", "mixer_s16_224", 224, 17),
    *one("coatnet_nano", "timm", "coatnet_nano_rw_224", 224, 14),
    *one("maxvit_pico", "timm", "maxvit_rmlp_pico_rw_256", 256, 17),
    *both("edgenext_xx_small", "timm", "edgenext_xx_small", 128, 17),
    *one("lcnet_050", "timm", "lcnet_050", 128, 14),
    *one("hardcorenas_a", "timm", "hardcorenas_a", 128, 12),
    *one("tinynet_e", "timm", "tinynet_e", 106, 11),
    *one("xception", "timm", "legacy_xception", 128, 12),
    *one("dla46_c", "timm", "dla46_c", 128, 13),
    *one("seresnet18", "timm", "legacy_seresnet18", 128, 19),
    *one("ecaresnet", "timm", "eca_resnet33ts", 128, 17),
    *one("cait_xxs24", "timm", "cait_xxs24_224", 224, 14),
    *one("xcit_nano", "timm", "xcit_nano_12_p16_224", 224, 17),
    *one("levit_128s", "timm", "levit_128s", 224, 12),
    *both("mobilenetv4_small", "timm", "mobilenetv4_conv_small", 128, 20),
    *one("mobileone_s0", "timm", "mobileone_s0", 96, 17),
    *one("fastvit_t8", "timm", "fastvit_t8", 128, 18),
    *one("efficientvit_b0", "timm", "efficientvit_b0", 128, 17),
    *one("efficientvit_m0", "timm", "efficientvit_m0", 224, 17),
    *one("pit_ti", "timm", "pit_ti_224", 224, 13),
    *one("crossvit_tiny", "timm", "crossvit_tiny_240", 240, 17),
    *one("convit_tiny", "timm", "convit_tiny", 224, 17),
    *one("pvt_v2_b0", "timm", "pvt_v2_b0", 128, 17),
    *one("coat_lite_tiny", "timm", "coat_lite_tiny", 224, 17),
    *one("res2net50", "timm", "res2net50_26w_4s", 96, 14),
    *one("hrnet_w18_small", "timm", "hrnet_w18_small", 128, 17, keep_batch_norm=True),
    *one("selecsls42b", "timm", "selecsls42b", 128, 11),
    *one("rexnet_100", "timm", "rexnet_100", 128, 17),
    *one("mixnet_s", "timm", "mixnet_s", 128, 16),
    *one("vovnet19", "timm", "ese_vovnet19b_dw", 128, 14),
    *one("starnet_s1", "timm", "starnet_s1", 128, 17),
    *one("resmlp_12", "timm", "resmlp_12_224", 224, 18),
    *one("gmlp_ti16", "timm", "gmlp_ti16_224", 224, 17),
    *one("tiny_vit_5m", "timm", "tiny_vit_5m_224", 224, 17),
    *one("inception_next_atto", "timm", "inception_next_atto", 128, 17),
]


def own(model: str, shapes, opset: int, exporter: str = "legacy", name: str = "", **more) -> Entry:
    return Entry(name or model, "own", model, shapes, exporter, opset, **more)


OWN = [
    own("YoloLike", image(128), 11),
    own("YoloLike", image(128), 18, "dynamo"),
    own("LstmTagger", ((2, 11, 24),), 13),
    own("LstmTagger", ((2, 11, 24),), 18, "dynamo"),
    own("BiGru", ((9, 2, 16), (4, 2, 24)), 14),
    own("ElmanRnn", ((7, 3, 12),), 12),
    own("Encoder", ((2, 10, 64),), 17),
    own("Encoder", ((2, 10, 64),), 18, "dynamo"),
    own("CausalDecoder", ((2, 13),), 14, integer_inputs=((0, 97),)),
    own("CausalDecoder", ((2, 13),), 20, "dynamo", integer_inputs=((0, 97),)),
    own("Conv1dNet", ((2, 1, 512),), 11),
    own("KeywordNet", ((1, 1, 49, 10),), 12),
    own("UNet", image(64), 13),
    own("UNet", image(64), 18, "dynamo"),
    own("SuperResolution", image(32, 1), 12),
    own("SuperResolution", image(32, 1), 18, "dynamo"),
    own("ManualShuffle", image(16), 15),
    own("Conv3dNet", ((1, 3, 8, 32, 32),), 11),
    own("Conv3dNet", ((1, 3, 8, 32, 32),), 18, "dynamo"),
    own("FullyConvolutional", image(50, batch=2), 16, name="DynamicFull",
        dynamic=((0, 0, "batch"), (0, 2, "height"), (0, 3, "width"))),
    own("FullyConvolutional", image(48, batch=2), 18, "dynamo", name="DynamicFull",
        dynamic=((0, 0, "batch"), (0, 2, "height"), (0, 3, "width"))),
    own("Encoder", ((3, 10, 64),), 17, name="EncoderDynamicBatch", dynamic=((0, 0, "batch"),)),
    own("GroupNormBlock", ((1, 3, 16, 16), (1, 16)), 17),
    own("GroupNormBlock", ((1, 3, 16, 16), (1, 16)), 18, "dynamo"),
    own("SpatialTransformer", image(28, 1), 20),
    own("TwoTower", ((2, 3, 32, 32), (2, 3, 32, 32), (2,)), 17, integer_inputs=((2, 10),)),
    own("MlpAutoencoder", ((4, 640),), 11),
]

ENTRIES: list[Entry] = [*TORCHVISION, *TIMM, *OWN]
