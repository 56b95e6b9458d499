"""Shrunk programs that have failed, by the behavior that they test."""

from __future__ import annotations

from typing import Final

from .programs import (
    Break,
    Call,
    Flow,
    Function,
    If,
    Let,
    Load,
    Loop,
    Program,
    Shuffle,
    Store,
    Sync,
    SyncReduce,
    Vote,
    WarpSync,
)

CASES: Final[dict[str, Program]] = {
    "lanes of a partial warp arrive at one barrier by two instructions": Program(
        ctas=1,
        threads=34,
        data=3074489803,
        shared=116,
        memory=232,
        body=(
            Sync(form="bar.sync", name=3, count=None),
            Let(d="c27", op="lt", a="lane", b=1),
            If(
                condition="c27",
                then=(Sync(form="barrier.sync", name=14, count=64),),
                other=(Sync(form="barrier.sync", name=14, count=64),),
            ),
        ),
    ),
    "lanes of a partial warp leave a loop one by one before a barrier": Program(
        ctas=1,
        threads=4,
        data=3353365781,
        shared=116,
        memory=88,
        body=(
            Loop(
                counter="i9",
                count=3,
                body=(
                    Let(d="c11", op="mov", a="i9", b=2),
                    Let(d="c10", op="lt", a="lane", b="c11"),
                    Break(condition="c10"),
                ),
                rotated=True,
            ),
            Sync(form="barrier.sync", name=15, count=None),
        ),
    ),
    "a diverged warp counts predicates at a barrier": Program(
        ctas=1,
        threads=2,
        data=20463167,
        shared=104,
        memory=144,
        body=(
            Flow(counter="i2", fuel=4, blocks=((), (), ()), jumps=(("v5", (0, 2, 1, 2)), ("v1", (2,)), ("gid", (0,)))),
            SyncReduce(d="v0", form="barrier.red", op="popc", name=11, count=None, a=1),
        ),
    ),
    "all splits of a diverged warp receive the result of a barrier's reduction": Program(
        ctas=1,
        threads=2,
        data=734635191,
        shared=29,
        memory=58,
        body=(
            Sync(form="bar.sync", name=13, count=None),
            Let(d="c2", op="mov", a=1, b=1),
            Let(d="c5", op="mov", a="lane"),
            Let(d="c4", op="mov", a="c5", b=1),
            If(
                condition="c4",
                then=(
                    Load(d="v1", space="shared", base=0, index=0),
                    Store(space="shared", base=0, index="tid", a="v4"),
                ),
            ),
            SyncReduce(d="v1", form="bar.red", op="or", name=0, count=None, a="c2"),
        ),
    ),
    "a vote waits for the lanes of its mask, and not for those of another mask": Program(
        ctas=1,
        threads=8,
        data=2014011509,
        shared=104,
        memory=208,
        body=(Call(d="v0", function="f0", a=0, b=0, mask=4294967295), Vote(d="v2", mode="any", a=0, mask=4294967295)),
        functions=(
            Function(
                name="f0",
                body=(
                    Let(d="c4", op="shr", a=16711935, b="lane"),
                    Let(d="c3", op="and", a="c4", b=1),
                    Vote(d="m1", mode="ballot", a="c3", mask="a2"),
                    Let(d="m2", op="xor", a="m1", b="a2"),
                    If(
                        condition="c3",
                        then=(
                            Let(d="c6", op="shr", a=3757211295, b="lane"),
                            Let(d="c5", op="and", a="c6", b=1),
                            If(
                                condition="c5",
                                then=(Let(d="a0", op="sub", a="lane", b="a0"), Let(d="a1", op="popc", a="a0")),
                            ),
                            Let(d="m8", op="and", a="lane", b=28),
                            Let(d="m7", op="shl", a=15, b="m8"),
                            Let(d="m7", op="and", a="m7", b="m1"),
                            WarpSync(mask="m7"),
                        ),
                    ),
                ),
                result="a1",
            ),
        ),
    ),
    "a tile whose lanes read outside its membermask": Program(
        ctas=1,
        threads=4,
        data=205356100,
        shared=0,
        memory=20,
        body=(
            Let(d="m15", op="shl", a=3, b="lane"),
            Shuffle(d="planted", p=None, mode="idx", a="warp", b=20, c=7199, mask="m15"),
            Store(space="global", base=16, index="gid", a="planted"),
        ),
    ),
}
