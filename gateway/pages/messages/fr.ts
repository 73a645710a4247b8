// The texts of hosted pages in French; no markup.

import type { Messages } from './en.ts'
/** French. */
export const fr: Messages = {
  languageName: 'Français',
  chooseLanguage: 'Langue',
  sandbox: 'Environnement de test\u00a0: aucun argent réel ne circule.',
  sandboxMark: 'MODE TEST',

  openTitle: 'Demande de paiement',
  refusedTitle: 'Paiement refusé. Vous pouvez réessayer.',
  refusedText: 'Aucun montant n’a été débité.',
  attemptsLeft: 'Tentatives restantes\u00a0: {count}.',
  lastAttempt: 'C’est votre dernière tentative.',
  partOfText: 'Ceci est votre part d’un total de {whole}.',
  partlyPaidText: 'Déjà payé\u00a0: {paid} sur {whole}. Votre part est de {amount}.',
  processingTitle: 'Votre paiement est en cours de traitement',
  processingText: 'Veuillez patienter et ne pas payer de nouveau.',
  updatesItself: 'Cette page s’actualise automatiquement.',
  checkAgain: 'Vérifier de nouveau',
  paidTitle: 'Payé',
  paidText: 'Merci. {merchant} a bien reçu votre paiement.',
  yourPartPaidTitle: 'Votre part est payée',
  yourPartPaidText:
    'Merci. Déjà payé\u00a0: {paid} sur {whole}. Il reste {rest} à payer par d’autres personnes.',
  paidOfWhole: 'Payé\u00a0: {paid} sur {whole}',
  cancelledTitle: 'Ce paiement a été annulé',
  cancelledText: 'Aucun montant n’a été débité. Ce lien ne peut plus être utilisé.',
  expiredTitle: 'Cette demande de paiement a expiré',
  expiredText:
    'Aucun montant n’a été débité. Ce lien ne peut plus être utilisé. Demandez-en un nouveau à {merchant}.',
  failedTitle: 'Ce paiement a échoué',
  failedText:
    'Aucun montant n’a été débité. Ce lien ne peut plus être utilisé. Demandez-en un nouveau à {merchant}.',
  lateMoneyText:
    'Votre argent est arrivé après l’échec de ce paiement. Ce lien ne peut plus être utilisé.',
  refundedTitle: 'Remboursé',
  refundedToWallet: 'La somme de {total} vous est remboursée sur votre portefeuille.',
  refundedToCard: 'La somme de {total} vous est remboursée sur votre carte.',
  refundedToYou: 'La somme de {total} vous est remboursée.',
  refundHeldTitle: 'Remboursement en attente',
  refundHeldText:
    'Nous n’avons pas pu vous rembourser {total}. Nous conservons cette somme pour vous. Veuillez contacter {merchant}.',

  amount: 'Montant',
  fee: 'Frais',
  total: 'Total',
  toPay: 'À payer',
  totalPaid: 'Total payé',
  payUntil: 'À payer avant le',
  timeLeft: 'il reste {time}',
  waysToPay: 'Moyens de paiement',

  cash: 'Espèces',
  card: 'Carte',
  wallet: 'Portefeuille mobile',
  credit: 'Carte de crédit',
  debit: 'Carte de débit',
  qr_code: 'Code QR',
  walletInstead: 'Payer plutôt par portefeuille mobile',
  cardInstead: 'Payer plutôt par carte',

  scanTitle: 'Scanner pour payer',
  scanText: 'Scannez ce code avec l’appareil photo d’un téléphone, ou ouvrez ce lien\u00a0:',
  qrLabel: 'Code QR du lien de paiement',
  payHere: 'Payer sur cet appareil',

  walletTitle: 'Payer avec votre portefeuille mobile',
  walletOf: 'Portefeuille de {payer}',
  notYou: 'Ce n’est pas vous\u00a0?',
  notYouText: 'Ne saisissez aucun code PIN ici. Demandez à {merchant} un lien à votre nom.',
  pinLabel: 'Code PIN du portefeuille',
  pinHint: '4 à 12 chiffres',
  mistakeTitle: 'Il y a un problème',
  pinMistake: 'Saisissez un code PIN de 4 à 12 chiffres. Aucun montant n’a été débité.',
  offline: 'Vous êtes hors ligne. Rien n’a été envoyé. Réessayez une fois la connexion rétablie.',
  sending: 'Envoi de votre paiement en cours. Veuillez patienter sans fermer cette page.',
  pay: 'Payer {total}',

  cardTitle: 'Payer par carte',
  cardFrame: 'Formulaire de carte du prestataire de paiement',
  cardUnavailable:
    'Le formulaire de carte n’est pas disponible pour le moment. Réessayez dans une minute.',
  cardNotOffered:
    'Ce paiement ne peut pas être effectué par carte. Choisissez un autre moyen de paiement.',

  agentTitle: 'Payer auprès d’un agent',
  agentText: 'Rendez-vous chez un agent avec {total} en espèces et présentez ce code.',
  agentCardText: 'Rendez-vous chez un agent avec votre carte et présentez ce code.',
  barcodeLabel: 'Code-barres du code de paiement',
  print: 'Imprimer cette page',

  paidOn: 'Payé le',
  refundedOn: 'Remboursé le',
  paidWith: 'Moyen de paiement',
  payer: 'Payeur',
  reference: 'Référence',
  receiptNumber: 'Reçu',
  checkReceipt: 'Scannez ce code ou ouvrez ce lien pour vérifier ce reçu\u00a0:',
  receiptQr: 'Code QR du lien vers ce reçu',
  receiptTitle: 'Reçu',
  receiptText:
    'Voici le paiement tel qu’il figure à présent dans nos registres. Comparez-le au reçu qui vous a été remis.',
  refundedAmount: 'Montant remboursé',
  refundDue: 'Reste à rembourser',
  openReceipt: 'Reçu',
  downloadReceipt: 'Télécharger le reçu (PDF)',
  receiptNotFoundTitle: 'Reçu introuvable',

  refresh: 'Actualiser cette page',
  changed: 'L’état de ce paiement a changé.',
  showChange: 'Voir ce qui a changé',
  backToShop: 'Retour à la boutique',
  openPage: 'Ouvrir la page de paiement',
  help: 'Une question\u00a0?',
  contact: 'Coordonnées',

  cancel: 'Annuler le paiement',
  cancelTitle: 'Annuler ce paiement\u00a0?',
  cancelText: 'Aucun montant ne sera débité. Ensuite, vous ne pourrez plus payer avec ce lien.',
  cancelYes: 'Oui, annuler le paiement',
  cancelNo: 'Non, revenir en arrière',

  notFoundTitle: 'Nous ne trouvons pas ce paiement',
  notFoundText:
    'Vérifiez que le lien a été copié en entier, ou demandez-en un nouveau à la personne qui vous l’a envoyé.',
  unavailableTitle: 'Veuillez réessayer',
  unavailableText: 'La page n’est pas disponible pour le moment.',
  notConfirmedTitle: 'Nous n’avons pas pu confirmer votre paiement',
  notConfirmedText:
    'Il peut encore aboutir. Ouvrez la page de paiement pour voir où il en est avant de payer à nouveau.',
  notSentTitle: 'Votre paiement n’a pas été envoyé',
  notSentText: 'Aucun montant n’a été débité. Ouvrez la page de paiement et réessayez.',
  walletNotOfferedTitle: 'Ce paiement ne peut pas être effectué par portefeuille mobile',
  walletNotOfferedText:
    'Aucun montant n’a été débité. Ouvrez la page de paiement et choisissez un autre moyen de paiement.',
  foreignFormTitle: 'Veuillez rouvrir le lien',
  foreignFormText: 'Cette page est restée ouverte trop longtemps. Aucun paiement n’a été effectué.',
  tooManyTitle: 'Trop de requêtes',
  tooManyText: 'Veuillez patienter un instant, puis réessayer.',
}
