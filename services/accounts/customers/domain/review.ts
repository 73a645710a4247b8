// What reviewers and holders are asked about a new customer.

/** A challenge as it is sent to the back end. */
export type ConsentRequest = {
  challengeId: string
  institutionName: string
  mobileNumber: string
  clientName: string
  expireTime: Date
}

/** A review as it is sent to the back end. */
export type Submission = {
  reviewId: string
  institutionName: string
  firstName: string
  lastName: string
  email: string
  mobileNumber: string
  detailsSealed: string
}
