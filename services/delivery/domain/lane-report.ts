// Sums up what a batch of ended attempts says about their lanes. Pure: the store applies it.
import type { AttemptOutcome, Claimed, Verdict } from './delivery.ts'

/** What is known of an attempt that has ended. */
export interface EndedPost {
  claimed: Pick<Claimed, 'endpointId' | 'url' | 'startedAt'>
  end: {
    outcome: AttemptOutcome
    status?: number | undefined
    peerAddress?: string | undefined
    totalMs: number
  }
  verdict: Pick<Verdict, 'state'>
}

/** A time-out: whether it counts depends on what else the lane answered since it began. */
export interface TimeOut {
  url: string
  startedAt: Date
}

/** What the attempts of one lane say about it. */
export interface LaneReport {
  endpointId: string
  delivered: number
  /** Failures but for time-outs: they count in the window of the breaker. */
  failed: number
  /** No connection was made. */
  unconnected: number
  /** 429 and 503: the receiver asks for less. */
  overloaded: number
  /** Attempts that were sent or could not connect; those that could not be signed say nothing. */
  sent: number
  /** Some of its pushes come again. */
  retries: boolean
  /** The URL that those are for, when it is one. */
  retriedUrl?: string
  /** The latest answer and the URL that gave it. */
  answeredUrl?: string
  answeredAt?: Date
  /** The latest answer of any other URL. */
  otherAnsweredAt?: Date
  /** Time-outs during which no other URL of this batch answered. */
  timeOuts: TimeOut[]
}

/** One report a lane, in no order. */
export function laneReports(batch: readonly EndedPost[]): LaneReport[] {
  const lanes = Map.groupBy(batch, ({ claimed }) => claimed.endpointId)
  return Array.from(lanes, ([endpointId, posts]) => reportOf(endpointId, posts))
}

function reportOf(endpointId: string, posts: EndedPost[]): LaneReport {
  const count = (fits: (post: EndedPost) => boolean) => posts.filter(fits).length
  const answers = latestAnswers(posts)
  const [newest, other] = answers
  const retried = new Set(
    posts.filter(({ verdict }) => verdict.state === 'pending').map(({ claimed }) => claimed.url),
  )
  const [retriedUrl] = retried
  return {
    endpointId,
    delivered: count(({ end }) => end.outcome === 'delivered'),
    failed: count(isFailure),
    unconnected: count(isUnconnected),
    overloaded: count(({ end }) => end.status === 429 || end.status === 503),
    sent: count(({ end }) => end.outcome !== 'unsigned'),
    retries: retried.size > 0,
    ...(retried.size === 1 && retriedUrl !== undefined && { retriedUrl }),
    ...(newest !== undefined && { answeredUrl: newest.url, answeredAt: newest.at }),
    ...(other !== undefined && { otherAnsweredAt: other.at }),
    timeOuts: posts
      .filter(({ end }) => end.outcome === 'timed_out')
      .map(({ claimed: { url, startedAt } }) => ({ url, startedAt }))
      .filter(({ url, startedAt }) => {
        return !answers.some((answer) => answer.url !== url && answer.at >= startedAt)
      }),
  }
}

/** The latest answer of each URL, latest first. */
function latestAnswers(posts: EndedPost[]): { url: string; at: Date }[] {
  const latest = new Map<string, Date>()
  for (const { claimed, end } of posts) {
    if (end.status === undefined) continue
    const at = new Date(claimed.startedAt.getTime() + end.totalMs)
    const known = latest.get(claimed.url)
    if (known === undefined || known < at) latest.set(claimed.url, at)
  }
  return Array.from(latest, ([url, at]) => ({ url, at })).toSorted(
    (one, two) => two.at.getTime() - one.at.getTime(),
  )
}

/** 410 is an answer that the receiver means. */
function isFailure({ end: { outcome, status } }: EndedPost): boolean {
  return outcome === 'connection_failed' || (outcome === 'refused' && status !== 410)
}

/** Where there is a peer, the connection was made and lost before the answer: that may be about one order. */
function isUnconnected({ end: { outcome, peerAddress } }: EndedPost): boolean {
  return outcome === 'connection_failed' && peerAddress === undefined
}
