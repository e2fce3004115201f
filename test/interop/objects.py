# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What the victim has: regions and endpoints, and the names of its answers."""
import collections

from causes import FLUSHED
from tap import check, equal, one_of

CANARY = 0xC5
RIGHTS = {"none": 0, "read": 0x02, "local": 0x10, "write": 0x30, "all": 0x33, "atomic": 0x50}
ESTABLISHED = "DAT_CONNECTION_EVENT_ESTABLISHED"
PEER_REJECTED = "DAT_CONNECTION_EVENT_PEER_REJECTED"
NON_PEER_REJECTED = "DAT_CONNECTION_EVENT_NON_PEER_REJECTED"
ACCEPT_ERROR = "DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR"
DISCONNECTED = "DAT_CONNECTION_EVENT_DISCONNECTED"
BROKEN = "DAT_CONNECTION_EVENT_BROKEN"
TIMED_OUT = "DAT_CONNECTION_EVENT_TIMED_OUT"
UNREACHABLE = "DAT_CONNECTION_EVENT_UNREACHABLE"
EP_BROKEN = "DAT_ASYNC_ERROR_EP_BROKEN"
DTO = "DAT_DTO_COMPLETION_EVENT"
IB_DTO = "DAT_IB_DTO_EVENT"
SUCCESS = "DAT_DTO_SUCCESS"


def pattern(length, seed):
    """What the victim's fill writes."""
    return bytes((i * 31 + (i >> 8) * 17 + seed) & 0xFF for i in range(length))


class Region:
    """Registered memory of the victim."""

    def __init__(self, victim, length, rights="all", pz=0):
        self.victim = victim
        got = victim.ask("region", length=length, rights=RIGHTS[rights], pz=pz)
        equal(got.get("result"), "DAT_SUCCESS", "dat_lmr_create")
        self.number = int(got["region"])
        self.address = int(got["address"])
        self.length = length
        self.stag = int(got["rmr_context"])

    def fill(self, seed):
        self.victim.ask("fill", region=self.number, seed=seed)
        return pattern(self.length, seed)

    def bytes(self, offset=0, length=None):
        """Its content; fails if a byte outside changed."""
        length = self.length - offset if length is None else length
        got = self.victim.ask("show", region=self.number, offset=offset, length=length)
        equal(
            got["intact"], "1", "memory around region %d untouched (DTO-38, DTO-88)" % self.number
        )
        return bytes.fromhex(got["bytes"])

    def untouched(self, content=None):
        """Nothing was placed in it."""
        want = content or bytes([CANARY]) * self.length
        got = self.bytes()
        wrong = [i for i in range(self.length) if got[i] != want[i]]
        check(
            not wrong,
            "%d octets of region %d changed, from %s on",
            len(wrong),
            self.number,
            wrong[:1],
        )

    def drop(self):
        """Unregisters and unmaps it."""
        self.victim.ask("drop", region=self.number)
        self.victim.opened.remove(("region", self.number))

    def unregister(self):
        equal(
            self.victim.ask("unregister", region=self.number)["result"],
            "DAT_SUCCESS",
            "dat_lmr_free",
        )


class Endpoint:
    """An EP of the victim with receives posted."""

    GAP = 32

    def __init__(self, victim, recvs=4, size=256, **attributes):
        self.victim = victim
        self.size = size
        got = victim.ask("ep", **attributes)
        equal(got.get("result"), "DAT_SUCCESS", "dat_ep_create")
        self.number = int(got["ep"])
        self.stride = size + self.GAP
        self.memory = Region(victim, max(recvs, 1) * self.stride, "local")
        self.posted = collections.deque()  # cookies of the receives outstanding
        self.requests = collections.deque()  # and of the requests
        self.next_cookie = 1
        for slot in range(recvs):
            self.post_recv(slot)

    def post_recv(self, slot):
        """Posts the receive of a slot; the cookie tells the slot and never comes twice."""
        cookie = self.next_cookie << 16 | slot
        self.next_cookie += 1
        self.post("recv", self.memory, slot * self.stride, self.size, cookie)
        self.posted.append(cookie)

    def post(self, what, region, offset, length, cookie, **more):
        got = self.victim.ask(
            "post",
            what=what,
            ep=self.number,
            region=region.number,
            offset=offset,
            length=length,
            cookie=cookie,
            **more
        )
        equal(got["result"], "DAT_SUCCESS", "post of a " + what)

    def request(self, what, region, offset=0, length=None, **more):
        """Posts a send, write or read."""
        cookie = self.next_cookie
        self.next_cookie += 1
        self.post(
            what,
            region,
            offset,
            region.length - offset if length is None else length,
            cookie,
            **more
        )
        self.requests.append(cookie)

    def received(self, ms=10000):
        """The next message; its receive has to be the oldest, and is posted again."""
        event = self.victim.event(ms)
        return self.message(event)

    def message(self, event):
        equal(event["event"], DTO, "event")
        equal((event["op"], event["status"]), ("DAT_DTO_RECEIVE", SUCCESS), "receive completion")
        cookie = self.posted.popleft()
        equal(int(event["cookie"]), cookie, "receive in posting order (DTO-65)")
        slot = cookie % 0x10000
        data = self.memory.bytes(slot * self.stride, self.stride)
        equal(data[self.size :], bytes([CANARY]) * self.GAP, "bytes behind the receive (DTO-38)")
        self.victim.ask(
            "set",
            region=self.memory.number,
            offset=slot * self.stride,
            bytes=bytes([CANARY] * min(self.size, 4096)).hex(),
        )
        self.post_recv(slot)
        return data[: int(event["length"])]

    def done(self, ms=10000, number=DTO):
        """The next completion of a request."""
        event = self.victim.event(ms)
        equal(event["event"], number, "event")
        equal(int(event["cookie"]), self.requests.popleft(), "request in posting order (DTO-65)")
        return event

    def bind(self, region, offset, length, rights="all"):
        """Binds a part of a region for this connection alone; returns the context."""
        got = self.victim.ask(
            "bind",
            ep=self.number,
            region=region.number,
            offset=offset,
            length=length,
            rights=RIGHTS[rights],
        )
        equal(got.get("result"), "DAT_SUCCESS", "dat_rmr_bind")
        event = self.victim.event()
        equal(
            (event["event"], event["status"]),
            ("DAT_RMR_BIND_COMPLETION_EVENT", "DAT_RMR_BIND_SUCCESS"),
            "completion of the bind",
        )
        return int(got["context"])

    def state(self):
        return self.victim.ask("state", ep=self.number)["state"]

    def ended(self, allowed, first=None, requests=None, ms=10000):
        """
        The connection ends with one of the events allowed and everything outstanding completes:
        receives flushed but the first with a status in first, requests with those in requests
        (lists of tuples). Then nothing more comes (FL-1 to FL-7, EP-152, EV-T2).
        """
        recv_rules = [first] if first else []
        request_rules = list(requests or [])
        end = None
        left = len(self.posted) + len(self.requests)
        while left or not end:
            event = self.victim.event(ms)
            check(
                event["event"] != "none",
                "%d completions and the end of the connection missing (%s)",
                left,
                end and end["event"],
            )
            if event["event"] in (DTO, IB_DTO):
                left -= 1
                self.ended_dto(event, recv_rules, request_rules, end)
            else:
                check(not end, "a second end, %s (EP-152)", event["event"])
                end = event
                one_of(end["event"], allowed, "connection event")
                equal(int(event["ep"]), self.number, "EP of the event")
        equal(self.state(), "DAT_EP_STATE_DISCONNECTED", "state (EP-131)")
        self.victim.quiet()
        return end

    def ended_dto(self, event, recv_rules, request_rules, end):
        receive = event["op"].startswith("DAT_DTO_RECEIVE")
        rules, queue = (recv_rules, self.posted) if receive else (request_rules, self.requests)
        equal(int(event["cookie"]), queue.popleft(), "%s in posting order (FL-3)" % event["op"])
        one_of(event["status"], rules.pop(0) if rules else (FLUSHED,), "status of " + event["op"])
        check(not end or event["status"] != SUCCESS, "success after the end (FL-5)")
